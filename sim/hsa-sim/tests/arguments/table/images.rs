//! Images and samplers.

use super::*;

/// The words of a description, without gaps.
fn words_of(of: &hsa_ext_image_descriptor_t) -> [u64; 6] {
    let format = u64::from(of.format.channel_type) | u64::from(of.format.channel_order) << 32;
    let [width, height, depth, layers] = [of.width, of.height, of.depth, of.array_size].map(|size| size as u64);
    [u64::from(of.geometry), width, height, depth, layers, format]
}

pub(super) fn images(world: &World) -> Vec<Row> {
    let image = || of(Kind::Image);
    let own = world.own;
    let memory = || Number(world.live[&Kind::Memory], vec![(0, INVALID), (world.live[&Kind::Memory] + 1, INVALID)]);
    let format = || halves(&[picture().format.channel_type, picture().format.channel_order]);
    let permission = || number(3, &[0, 4, 99, u64::from(u32::MAX)]);
    let layout = || number(1, &[2, 99, u64::from(u32::MAX)]);
    let pitch = |value| Number(value, vec![(1, Expect::Error), (1 << 63, Expect::Error), (HUGE, Expect::Error)]);
    let row = || pitch(256);
    // There is only one plane.
    let slice = || any(0);
    let new_image = || made(|world, _, image| world.end(Kind::Image, image));
    let new_sampler = || made(|world, _, sampler| world.end(Kind::Sampler, sampler));
    let described = |of: hsa_ext_image_descriptor_t| kept(&words_of(&of));
    // A descriptor in the GPU's format, as another driver would write it.
    let laid_out: Vec<u32> = [1, 0x1002 << 16 | world.chip].into_iter().chain(world.image_words()).collect();
    let wrong = |mut row: Row| {
        let of = picture();
        let mut add =
            |descriptor: hsa_ext_image_descriptor_t| row.more.push((vec![(1, described(descriptor))], Expect::Error));
        for size in [0, 1 << 20, 1 << 63, usize::MAX] {
            add(hsa_ext_image_descriptor_t { width: size, ..of });
            add(hsa_ext_image_descriptor_t { height: size, ..of });
        }
        for many in [1 << 20, 1 << 63, usize::MAX] {
            add(hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_2DA, array_size: many, ..of });
            add(hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_3D, depth: many, ..of });
        }
        for number in [8, 99, u32::MAX] {
            add(hsa_ext_image_descriptor_t { geometry: number, ..of });
        }
        for number in [20, 99, u32::MAX] {
            add(hsa_ext_image_descriptor_t {
                format: hsa_ext_image_format_t { channel_type: number, ..of.format },
                ..of
            });
            add(hsa_ext_image_descriptor_t {
                format: hsa_ext_image_format_t { channel_order: number, ..of.format },
                ..of
            });
        }
        row
    };
    let region_of = |offset: [u32; 3], range: [u32; 3]| kept(&[offset, range].concat());
    let three = |numbers: [u32; 3]| kept(&numbers);
    let outside = [
        region_of([16, 0, 0], [1, 1, 1]),
        region_of([0; 3], [17, 1, 1]),
        region_of([u32::MAX; 3], [1; 3]),
        region_of([1; 3], [u32::MAX; 3]),
    ];
    let boxes = |mut row: Row, index: usize| {
        outside.into_iter().for_each(|region| row.more.push((vec![(index, region)], Expect::Error)));
        row
    };
    let flat = || Number(own, vec![(0, INVALID), (1, Expect::Error), (0x1000, Expect::Error), (HUGE, Expect::Error)]);
    let sampler = |words: usize| halves(&vec![0; words]);
    let bad_sampler = kept(&[99_u32; 5]);
    let refused = Expect::Error;
    vec![
        Row::new("hsa_ext_image_get_capability", vec![gpu(), choice(1, 7), format(), out()]),
        Row::new("hsa_ext_image_get_capability_with_layout", vec![gpu(), choice(1, 7), format(), layout(), out()]),
        wrong(Row::new("hsa_ext_image_data_get_info", vec![gpu(), words(&words_of(&picture())), permission(), out()])),
        wrong(Row::new(
            "hsa_ext_image_data_get_info_with_layout",
            vec![gpu(), words(&words_of(&picture())), permission(), layout(), row(), slice(), out()],
        )),
        wrong(Row::new(
            "hsa_ext_image_create",
            vec![gpu(), words(&words_of(&picture())), memory(), permission(), new_image()],
        )),
        wrong(Row::new(
            "hsa_ext_image_create_with_layout",
            vec![gpu(), words(&words_of(&picture())), memory(), permission(), layout(), row(), slice(), new_image()],
        )),
        wrong(Row::new(
            "hsa_amd_image_create",
            vec![gpu(), words(&words_of(&picture())), halves(&laid_out), memory(), permission(), new_image()],
        ))
        .also(&[(2, kept(&[[2, laid_out[1]], [0; 2], [0; 2], [0; 2], [0; 2]]))], Expect::Error)
        .also(&[(2, kept(&[[1, !laid_out[1]], [0; 2], [0; 2], [0; 2], [0; 2]]))], Expect::Error)
        .also(
            &[(2, kept(&[[1, laid_out[1]], [u32::MAX; 2], [u32::MAX; 2], [u32::MAX; 2], [u32::MAX; 2]]))],
            Expect::Error,
        ),
        Row::new("hsa_ext_image_destroy", vec![gpu(), Fresh(Kind::Image, None)]),
        Row::new("hsa_ext_image_copy", vec![gpu(), image(), offset(), image(), offset(), halves(&[4, 2, 1])])
            .also(&[(2, three([16, 0, 0]))], Expect::Error)
            .also(&[(2, three([u32::MAX; 3]))], Expect::Error)
            .also(&[(4, three([13, 0, 0]))], Expect::Error)
            .also(&[(4, three([u32::MAX; 3]))], Expect::Error)
            .also(&[(5, three([17, 1, 1]))], Expect::Error)
            .also(&[(5, three([u32::MAX; 3]))], Expect::Error),
        boxes(Row::new("hsa_ext_image_import", vec![gpu(), flat(), pitch(0), slice(), image(), region()]), 5),
        boxes(Row::new("hsa_ext_image_export", vec![gpu(), image(), flat(), pitch(0), slice(), region()]), 5),
        boxes(Row::new("hsa_ext_image_clear", vec![gpu(), image(), halves(&[0; 4]), region()]), 3),
        Row::new("hsa_ext_sampler_create", vec![gpu(), sampler(3), new_sampler()]).also(&[(1, bad_sampler)], refused),
        Row::new("hsa_ext_sampler_create_v2", vec![gpu(), sampler(5), new_sampler()])
            .also(&[(1, bad_sampler)], refused),
        Row::new("hsa_ext_sampler_destroy", vec![gpu(), Fresh(Kind::Sampler, None)]),
        Row::new(
            "hsa_amd_image_get_info_max_dim",
            vec![gpu(), attribute(HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS), out()],
        ),
    ]
}
