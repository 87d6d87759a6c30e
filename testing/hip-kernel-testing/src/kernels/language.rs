//! One function a feature of the language. Each is run on the host and on the device, with the same results.

use core::cell::{Cell, RefCell};
use core::hash::{Hash, Hasher};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(Clone, Copy)]
struct Segment {
    from: Point,
    to: Point,
}

impl Segment {
    fn manhattan(&self) -> u32 {
        self.from.x.abs_diff(self.to.x) + self.from.y.abs_diff(self.to.y)
    }

    fn moved(mut self, by: i32) -> Self {
        self.to.x += by;
        self
    }
}

pub fn structs(x: u32) -> u32 {
    let point = Point { x: x as i32, ..Point::default() };
    let segment = Segment { from: point, to: Point { x: -3, y: x as i32 * 2 } };
    segment.moved(x as i32).manhattan()
}

pub fn tuples(x: u32) -> u32 {
    let ((a, b), c) = ((x, x + 1), x * 2);
    let swapped = (b, a);
    swapped.0 * 10 + swapped.1 + c
}

pub fn arrays(x: u32) -> u32 {
    let mut grid = [[0u32; 4]; 5];
    for (row, line) in grid.iter_mut().enumerate() {
        for (column, cell) in line.iter_mut().enumerate() {
            *cell = x.wrapping_mul(row as u32 + 1) ^ column as u32;
        }
    }
    // The index is known when the kernel runs only.
    grid[(x % 5) as usize][(x / 5 % 4) as usize]
}

enum Shape {
    Empty,
    Square(u32),
    Rectangle { width: u32, height: u32 },
}

fn shape(x: u32) -> Shape {
    match x % 3 {
        0 => Shape::Empty,
        1 => Shape::Square(x),
        _ => Shape::Rectangle { width: x, height: x + 1 },
    }
}

pub fn enums(x: u32) -> u32 {
    match shape(x) {
        Shape::Empty => 7,
        Shape::Square(side) => side * side,
        Shape::Rectangle { width, height } => width * height,
    }
}

fn half(x: u32) -> Option<u32> {
    (x % 2 == 0).then_some(x / 2)
}

fn quarter(x: u32) -> Result<u32, u32> {
    let once = half(x).ok_or(x)?;
    half(once).ok_or(once)
}

pub fn options(x: u32) -> u32 {
    let found = quarter(x).map_or_else(|left| left + 100, |value| value * 3);
    found + half(x).and_then(half).unwrap_or_default() + half(x).into_iter().sum::<u32>()
}

pub fn patterns(x: u32) -> u32 {
    let digits = [x % 10, x / 10 % 10, x / 100 % 10];
    let first = match x {
        0 => 1,
        1..=9 => 2,
        n @ 10..=99 if n % 2 == 0 => n,
        n if n > 200 => 4,
        _ => 5,
    };
    let second = match digits {
        [0, ..] => 10,
        [a, .., b] if a == b => 20 + a,
        [_, middle @ (1 | 3 | 5), _] => 30 + middle,
        _ => 40,
    };
    first * 100 + second
}

pub fn closures(x: u32) -> u32 {
    let mut sum = 0;
    let by = x + 1;
    let mut add = |value: u32| sum += value * by;
    add(2);
    add(3);
    let owned = [x, x + 1];
    let take = move || owned[0] + owned[1];
    sum + take()
}

fn twice<T>(f: impl Fn(T) -> T) -> impl Fn(T) -> T {
    move |x| f(f(x))
}

fn apply_all(x: u32, functions: &[&dyn Fn(u32) -> u32]) -> u32 {
    functions.iter().fold(x, |x, f| f(x))
}

pub fn higher_order(x: u32) -> u32 {
    let add = twice(move |y: u32| y + x);
    apply_all(x, &[&add, &|y| y * 3, &twice(|y| y ^ 5)])
}

fn double(x: u32) -> u32 {
    x.wrapping_mul(2)
}

fn square(x: u32) -> u32 {
    x.wrapping_mul(x)
}

fn negate(x: u32) -> u32 {
    !x
}

pub fn function_pointers(x: u32) -> u32 {
    const TABLE: [fn(u32) -> u32; 3] = [double, square, negate];
    let chosen = TABLE[(x % 3) as usize];
    chosen(x)
}

trait Animal {
    const LEGS: u32;
    type Food: Default + Into<u32>;

    fn weight(&self) -> u32;

    fn total(&self) -> u32 {
        self.weight() * Self::LEGS + Self::Food::default().into()
    }
}

struct Dog(u32);
struct Bird {
    wings: u32,
}
#[derive(Default)]
struct Meat;

impl From<Meat> for u32 {
    fn from(_: Meat) -> Self {
        1000
    }
}

impl Animal for Dog {
    const LEGS: u32 = 4;
    type Food = Meat;
    fn weight(&self) -> u32 {
        self.0
    }
}

impl Animal for Bird {
    const LEGS: u32 = 2;
    type Food = u32;
    fn weight(&self) -> u32 {
        1
    }
    fn total(&self) -> u32 {
        self.weight() + Self::LEGS * self.wings
    }
}

pub fn traits(x: u32) -> u32 {
    fn sum(a: &impl Animal, b: &impl Animal) -> u32 {
        a.total() + b.total()
    }
    sum(&Dog(x), &Bird { wings: x + 2 })
}

trait Area {
    fn area(&self) -> u32;
}

impl Area for u32 {
    fn area(&self) -> u32 {
        self * self
    }
}

impl Area for (u32, u32) {
    fn area(&self) -> u32 {
        self.0 * self.1
    }
}

pub fn trait_objects(x: u32) -> u32 {
    let (square, rectangle) = (x % 100, (x % 7, x % 9));
    let shapes: [&dyn Area; 2] = [&square, &rectangle];
    shapes[(x % 2) as usize].area() + shapes.iter().map(|shape| shape.area()).sum::<u32>()
}

#[derive(Clone, Copy)]
struct Pair<T>(T, T);

impl<T: Copy + PartialOrd> Pair<T> {
    fn larger(self) -> T {
        if self.0 > self.1 { self.0 } else { self.1 }
    }
}

pub fn generics(x: u32) -> u32 {
    let ints = Pair(x % 13, x % 7).larger();
    let floats = Pair(x as f32 * 0.5, 20.0).larger();
    ints + floats as u32 + Pair(x as u64, 3).larger() as u32
}

struct Ring<const N: usize> {
    values: [u32; N],
}

impl<const N: usize> Ring<N> {
    const SIZE: u32 = N as u32;

    fn at(&self, index: usize) -> u32 {
        self.values[index % N]
    }
}

pub fn const_generics(x: u32) -> u32 {
    let (three, five) = (Ring::<3> { values: [x, 1, 2] }, Ring::<5> { values: [x; 5] });
    three.at(x as usize) + five.at(7) + Ring::<9>::SIZE
}

#[derive(Clone, Copy, PartialEq)]
struct Complex {
    re: f32,
    im: f32,
}

impl core::ops::Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl core::ops::Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl core::ops::AddAssign<f32> for Complex {
    fn add_assign(&mut self, other: f32) {
        self.re += other;
    }
}

impl core::ops::Index<usize> for Complex {
    type Output = f32;
    fn index(&self, index: usize) -> &f32 {
        if index == 0 { &self.re } else { &self.im }
    }
}

pub fn operators(x: u32) -> u32 {
    let a = Complex { re: (x % 16) as f32, im: 1.0 };
    let mut b = a * a + a;
    b += 0.5;
    (b[0] * 2.0) as i32 as u32 ^ b[1] as u32
}

pub fn iterators(x: u32) -> u32 {
    let values = [x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6];
    let evens: u32 = values.iter().filter(|v| *v % 2 == 0).map(|v| v * 3).sum();
    let pairs = values.iter().zip(values.iter().rev()).fold(0u32, |sum, (a, b)| sum.wrapping_add(a * b));
    let few = (0..x).step_by(3).take_while(|v| v * v < x).count() as u32;
    let most = values.iter().skip(1).chain([&9]).copied().max().unwrap_or(0);
    let at = values.iter().position(|v| v % 5 == 0).map_or(99, |at| at as u32);
    let flat: u32 = [[1, 2], [3, x]]
        .iter()
        .flatten()
        .scan(0, |state, v| {
            *state += v;
            Some(*state)
        })
        .last()
        .unwrap_or(0);
    evens ^ pairs ^ few ^ most ^ (at << 8) ^ flat
}

struct Collatz(u32);

impl Iterator for Collatz {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        if self.0 <= 1 {
            return None;
        }
        self.0 = if self.0 % 2 == 0 { self.0 / 2 } else { 3 * self.0 + 1 };
        Some(self.0)
    }
}

pub fn own_iterators(x: u32) -> u32 {
    let steps = Collatz(x + 1).count() as u32;
    steps * 1000 + Collatz(x + 1).max().unwrap_or(0) % 1000
}

pub fn slices(x: u32) -> u32 {
    let values = [x, 2, 3, x + 4, 5, 6, 7, x + 8];
    let middle = &values[2..(3 + x as usize % 5)];
    let (left, right) = values.split_at(x as usize % 8);
    let chunks = values.chunks(3).map(|chunk| chunk.iter().sum::<u32>()).max().unwrap_or(0);
    let rising = values.windows(2).filter(|pair| pair[0] < pair[1]).count() as u32;
    let mut copy = [0; 4];
    copy.copy_from_slice(&values[4..]);
    copy.reverse();
    copy.rotate_left(x as usize % 4);
    let same = u32::from(values.starts_with(&[x, 2]) && values[1..].contains(&7) && left.len() + right.len() == 8);
    middle.iter().sum::<u32>() ^ chunks ^ (rising << 4) ^ copy[0] ^ (same << 16) ^ right.first().copied().unwrap_or(1)
}

pub fn sorting(x: u32) -> u32 {
    let mut values = [0u32; 12];
    let mut state = x;
    for value in &mut values {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *value = state >> 24;
    }
    values.sort_unstable();
    let sorted = u32::from(values.is_sorted());
    let at = match values.binary_search(&128) {
        Ok(at) => at,
        Err(at) => at,
    };
    sorted << 16 | (at as u32) << 8 | values[5]
}

pub fn strings(x: u32) -> u32 {
    let words = ["zero", "one", "two", "drei", "vier ü"];
    let word = words[(x % 5) as usize];
    let vowels = word.chars().filter(|c| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'ü')).count() as u32;
    let bytes = word.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let parsed =
        "12a".split('a').next().map_or(0, |text| text.bytes().fold(0, |n, digit| n * 10 + u32::from(digit - b'0')));
    bytes ^ vowels << 8 ^ word.len() as u32 ^ u32::from(word == "two") << 20 ^ parsed
}

const WEIGHTS: [u32; 8] = [1, 3, 5, 7, 11, 13, 17, 19];
static SHIFTS: [u32; 4] = [0, 3, 9, 27];

pub fn constants(x: u32) -> u32 {
    const LIMIT: u32 = u32::MAX / 3;
    WEIGHTS[(x % 8) as usize] << SHIFTS[(x / 8 % 4) as usize] % 13 ^ LIMIT
}

const fn primes() -> [u32; 10] {
    let mut found = [0; 10];
    let (mut count, mut n) = (0, 2);
    while count < 10 {
        let (mut divisor, mut prime) = (2, true);
        while divisor * divisor <= n {
            if n % divisor == 0 {
                prime = false;
            }
            divisor += 1;
        }
        if prime {
            found[count] = n;
            count += 1;
        }
        n += 1;
    }
    found
}

pub fn const_functions(x: u32) -> u32 {
    const PRIMES: [u32; 10] = primes();
    const { assert!(PRIMES[9] == 29) };
    PRIMES[(x % 10) as usize] * x
}

mod outer {
    pub(super) mod inner {
        pub(crate) fn deep(x: u32) -> u32 {
            super::shallow(x) + 1
        }
    }

    fn shallow(x: u32) -> u32 {
        x * 5
    }
}

pub fn modules(x: u32) -> u32 {
    use outer::inner as renamed;
    renamed::deep(x) + crate::kernels::language::tuples(x)
}

macro_rules! polynomial {
    ($x:expr; $first:expr $(, $rest:expr)*) => { $first $(+ $rest * $x)* };
}

pub fn macros(x: u32) -> u32 {
    polynomial!(x; 3, 5, 7, x)
}

pub fn loops(x: u32) -> u32 {
    let mut skipped = 0;
    let found = 'outer: loop {
        'rows: for a in 1u32.. {
            for b in 1..=a {
                if a * b > x % 50 {
                    break 'outer a * 100 + b;
                }
                if b > 5 {
                    skipped += 1;
                    continue 'rows;
                }
            }
        }
    };
    let (mut stack, mut top) = ([x, x / 2, x / 4, x / 8], 4);
    let mut pop = || {
        top -= 1;
        if top > 0 { Some(core::mem::take(&mut stack[top])) } else { None }
    };
    let mut sum = 0;
    while let Some(value) = pop() {
        sum += value;
    }
    found ^ sum ^ (skipped << 16)
}

#[inline(never)]
fn ackermann(m: u32, n: u32) -> u32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

fn fibonacci(n: u32) -> u32 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

pub fn recursion(x: u32) -> u32 {
    fibonacci(x % 9) + ackermann(1, x % 4)
}

#[inline(never)]
fn many(values: &[u32; 20], scale: u32) -> [u32; 20] {
    let mut all = *values;
    for value in &mut all {
        *value = value.wrapping_mul(scale);
    }
    all
}

pub fn calls(x: u32) -> u32 {
    let mut values = [x; 20];
    values[(x % 20) as usize] = 1;
    many(&many(&values, 3), x).iter().fold(0, |sum, value| sum ^ value)
}

struct Guard<'a> {
    log: &'a Cell<u32>,
    name: u32,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.log.set(self.log.get() * 10 + self.name);
    }
}

pub fn drops(x: u32) -> u32 {
    let log = Cell::new(x % 10);
    {
        let _first = Guard { log: &log, name: 1 };
        let second = Guard { log: &log, name: 2 };
        if x % 2 == 0 {
            drop(second);
        }
        let _third = Guard { log: &log, name: 3 };
    }
    log.get()
}

pub fn swaps(x: u32) -> u32 {
    let (mut a, mut b) = (x, x + 1);
    core::mem::swap(&mut a, &mut b);
    let old = core::mem::replace(&mut a, 5);
    let mut option = Some(old);
    let taken = option.take();
    a * 100 + b + taken.unwrap_or(0) * 3 + u32::from(option.is_none())
}

fn longest<'a>(a: &'a [u32], b: &'a [u32]) -> &'a [u32] {
    if a.len() >= b.len() { a } else { b }
}

pub fn references(x: u32) -> u32 {
    let (a, b) = ([x, 1, 2], [x * 2, 3, 4, 5]);
    let mut total = 0;
    let chosen = longest(&a[..(x % 4).min(3) as usize], &b[..(x % 3) as usize]);
    let target = &mut total;
    chosen.iter().for_each(|value| *target += value);
    total
}

pub fn integers(x: u32) -> u32 {
    let big = x.wrapping_mul(0x9e37_79b9);
    let (sum, carried) = big.overflowing_add(0x8000_0000);
    let checked = big.checked_sub(0x7000_0000).unwrap_or(1);
    let saturated = big.saturating_mul(3);
    let bits = big.count_ones() + big.leading_zeros() * 32 + big.trailing_zeros() * 1024;
    sum ^ u32::from(carried)
        ^ checked.rotate_left(x % 32)
        ^ saturated
        ^ bits
        ^ big.reverse_bits()
        ^ big.swap_bytes()
        ^ x.isqrt()
        ^ (x + 1).ilog2()
}

pub fn wide_integers(x: u32) -> u32 {
    let a = u64::from(x) * 0x1_0000_0001 + 12345;
    let b = u128::from(a) * u128::from(a) / (u128::from(x) + 7);
    let c = (a as i64 - 1_000_000_000_000).rem_euclid(i64::from(x) + 3);
    (a / 1000 + a % 77) as u32 ^ b as u32 ^ (b >> 64) as u32 ^ c as u32
}

pub fn small_integers(x: u32) -> u32 {
    let a = x as u8;
    let b = (x as i8).wrapping_mul(3) >> 1;
    let c = (x as u16).wrapping_mul(257).rotate_right(3);
    let d = (x as i16).wrapping_neg() / 3;
    u32::from(a.wrapping_add(200)) ^ b as u32 ^ u32::from(c) << 8 ^ d as u32 ^ u32::from(a.saturating_sub(99))
}

pub fn conversions(x: u32) -> u32 {
    let float = x as f32 / 3.0;
    let small = u8::try_from(x).map_or(1, u32::from);
    let signed = i32::try_from(x).unwrap_or(-1) as i64 as u64;
    float.to_bits()
        ^ f32::from_bits(x << 10 | 0x3f80_0000) as u32
        ^ small
        ^ signed as u32
        ^ (-1.5f32) as u32
        ^ f64::from(float) as u16 as u32
        ^ u32::from(char::from_u32(x).is_some())
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32, u32);

pub fn comparisons(x: u32) -> u32 {
    let (a, b) = (Version(x % 3, x % 5, x % 7), Version(1, 2, 3));
    let order = match a.cmp(&b) {
        core::cmp::Ordering::Less => 1,
        core::cmp::Ordering::Equal => 2,
        core::cmp::Ordering::Greater => 3,
    };
    order
        + a.max(b).1 * 10
        + ((x as i32 - 50).clamp(-10, 10) + 10) as u32
        + u32::from(1.0f32.total_cmp(&(x as f32)).is_lt()) * 7
}

pub fn floats(x: u32) -> u32 {
    let a = x as f32 * 0.37 - 20.0;
    let b = a.max(1.5).min(40.0) / 3.0;
    let c = f64::from(a) * 1.0e-3 + f64::from(b);
    a.abs().to_bits()
        ^ b.to_bits()
        ^ c.to_bits() as u32
        ^ (a % 7.0).to_bits()
        ^ a.signum().to_bits()
        ^ u32::from((a / 0.0).is_infinite())
}

#[derive(Clone, Copy)]
union Bits {
    float: f32,
    bytes: [u8; 4],
}

pub fn unions(x: u32) -> u32 {
    let bits = Bits { float: x as f32 };
    // SAFETY: any bytes are four bytes.
    let bytes = unsafe { bits.bytes };
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Halves(u16, u16);
    // SAFETY: any bytes are two numbers.
    let halves: Halves = unsafe { core::mem::transmute([bytes[3], bytes[2], bytes[1], bytes[0]]) };
    u32::from(halves.0) | u32::from(halves.1) << 16
}

pub fn cells(x: u32) -> u32 {
    let (cell, shared) = (Cell::new(x), RefCell::new([x; 3]));
    cell.set(cell.get() + 2);
    {
        let mut values = shared.borrow_mut();
        values[1] = cell.replace(9);
    }
    let busy = shared.borrow();
    let refused = u32::from(shared.try_borrow_mut().is_err());
    busy.iter().sum::<u32>() + cell.get() * 1000 + refused * 100_000
}

struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

pub fn hashing(x: u32) -> u32 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    (x, x as u8, Some(3u16), [1u32, x]).hash(&mut hasher);
    hasher.finish() as u32
}
