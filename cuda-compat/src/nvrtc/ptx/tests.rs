use super::*;

/// Checks that statements are refused for a reason.
#[track_caller]
fn refused_for(statement: &str, why: &str) {
    let found = refused(statement);
    assert_eq!(found.len(), 1, "{statement}");
    assert!(found[0].why.contains(why), "{statement}: {}", found[0].why);
}

#[test]
fn instructions_without_a_translation_are_named() {
    refused_for(
        "asm(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1};\" : \"=r\"(a) : \"r\"(b));",
        "mma.sync.aligned.m16n8k16",
    );
    refused_for(
        "asm(\"add.cc.u32 %0, %1, %2;\" : \"=r\"(a) : \"r\"(b), \"r\"(c));",
        "add.cc.u32 is not supported: there is no carry flag",
    );
    refused_for(
        "asm(\"addc.u32 %0, %1, %2;\" : \"=r\"(a) : \"r\"(b), \"r\"(c));",
        "addc.u32 is not supported: there is no carry flag",
    );
    refused_for("asm(\"mad.lo.cc.u32 %0, %1, %2, %3;\" : \"=r\"(a) : \"r\"(b), \"r\"(c), \"r\"(d));", "carry");
    refused_for("asm volatile(\"bar.sync 1, 64;\");", "bar.sync is not supported with a number of threads");
    refused_for("asm volatile(\"{ L: @p bra L; }\");", "labels");
    refused_for("asm(\"mov.u32 %0, %nsmid;\" : \"=r\"(a));", "register %nsmid");
    refused_for("asm(\"add.u32 %0, %1, x;\" : \"=r\"(a) : \"r\"(b));", "operand x");
    refused_for("asm(\"add.f32x2 %0, %1, %2;\" : \"=l\"(a) : \"l\"(b), \"l\"(c));", "add.f32x2");
    refused_for("asm(\"add.u32 %0, %1;\" : \"=r\"(a) : \"r\"(b));", "2 operands");
    refused_for("asm(\"st.global.u32 [%0], %1;\" :: \"x\"(a), \"r\"(b));", "constraint 'x'");
    refused_for("asm(\"ld.\" #type \" %0, [%1];\" : \"=r\"(a) : \"l\"(b));", "put together by macros (#)");
    refused_for("asm(text : \"=r\"(a) : \"l\"(b));", "put together by macros (text)");
    refused_for("asm(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(a));", "mbarrier.init.shared.b64");
    refused_for("asm(\"cvt.rz.f16.f32 %0, %1;\" : \"=h\"(a) : \"f\"(b));", "cvt.rz.f16.f32");
    refused_for("asm(\"rcp.f32 %0, %1;\" : \"=f\"(a) : \"f\"(b));", "rcp.f32");
}

#[test]
fn a_refusal_has_the_place_of_its_statement() {
    let found = refused("int a;\n  asm(\"add.cc.u32 %0, %0, 1;\" : \"+r\"(a));");
    assert_eq!((found[0].line, found[0].column), (2, 3));
}

#[test]
fn assembly_of_amd_and_other_code_stays() {
    for source in [
        "asm volatile(\"s_waitcnt lgkmcnt(0)\");",
        "asm volatile(\"\" ::: \"memory\");",
        "int asm_count = 3;",
        "asm(\"v_mov_b32 %0, %1\" : \"=v\"(a) : \"v\"(b));",
        "asm(TEXT);",
        "asm(\"; comment\");",
    ] {
        assert_eq!(translated(source), source);
        assert!(refused(source).is_empty());
    }
}

#[test]
fn lines_stay_the_same() {
    let macros = "#define F(x) \\\n  asm(\"add.u32 %0, %0, 1;\" \\\n : \"+r\"(x))\nnext";
    let result = translated(macros);
    let lines: Vec<&str> = result.lines().collect();
    assert_eq!((lines.len(), lines[3]), (4, "next"));
    assert!(lines[1].ends_with("while (0) \\"), "{result}");
    let plain = translated("asm(\"add.u32 %0, %0, 1;\" // a comment\n : \"+r\"(x) /* and\n another */);\nnext");
    assert_eq!(plain.lines().nth(3), Some("next"));
    assert!(plain.contains("while (0)\n"), "{plain}");
}

#[test]
fn texts_are_joined() {
    let all = "#define OPERATION \"add.u32 \"\nasm(OPERATION \"%0, \" R\"(%0, 1;)\" : \"+r\"(x));";
    assert!(translated(all).contains("::__cuda_compat::ptx::add("));
    assert!(refused(all).is_empty());
}

#[test]
fn calls_that_are_errors_are_explained() {
    let log = "/a/k.cu:6:107: error: call to 'n::__cuda_compat_ptx_6_3()' declared with 'error' attribute: the PTX instruction x is not supported\n    6 | do {\n      | ^\n\
        /a/k.cu:8:1: warning: other\n    8 | int\n1 error generated.\n";
    assert_eq!(
        explained(log),
        "/a/k.cu:6:3: error: the PTX instruction x is not supported\n/a/k.cu:8:1: warning: other\n    8 | int\n1 error generated.\n"
    );
    assert_eq!(explained("a\n b\n"), "a\n b\n");
}

#[test]
fn any_text_is_taken() {
    let source = "asm volatile(\"{.reg .pred p; .reg .b32 q<3>; @!p ld.shared.v2.u32 {%0, %1}, [%2+4]; mov.b64 {q0, _}, 0x1;} // é\" : \"=r\"(a), \"+f\"(b) : \"l\"(c) : \"memory\");";
    for (at, _) in source.char_indices() {
        translated(&source[..at]);
        translated(&source[at..]);
        refused(&source[at..]);
        translated(&format!("{}\" : \"=r\"(x));", &source[..at]));
    }
}
