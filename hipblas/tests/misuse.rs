//! Misuse that must not compile.

#[test]
fn misuse_does_not_compile() {
    sys_testing::misuse::check("tests/misuse", &["hipblas", "hip"]);
}
