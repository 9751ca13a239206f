// SPDX-License-Identifier: MIT
//! The same as authors.c from Rust, with types that own their handles: what a crate would begin with.
use std::ffi::{c_char, c_int, CStr, CString};
use std::io::BufRead;
use std::ptr;

mod sys {
    use super::{c_char, c_int};

    #[repr(C)]
    pub struct Spec {
        _opaque: [u8; 0],
    }
    #[repr(C)]
    pub struct Plan {
        _opaque: [u8; 0],
    }
    #[repr(C)]
    pub struct Group {
        pub name: *const c_char,
        pub layers: *const i32,
        pub layer_count: usize,
        pub pairs: usize,
        pub inv_freq: *const f64,
        pub pair_factors: *const f64,
        pub base: f64,
        pub attention_scale: f64,
    }

    #[link(name = "mrrope_c")]
    extern "C" {
        pub fn mrrope_last_error() -> *const c_char;
        pub fn mrrope_spec_from_numbers(rotary_dim: i32, base: f64, context_trained: i64, spec: *mut *mut Spec) -> c_int;
        pub fn mrrope_spec_free(spec: *mut Spec);
        pub fn mrrope_plan_make(spec: *const Spec, target: i64, method: *const c_char, length: i64, plan: *mut *mut Plan) -> c_int;
        pub fn mrrope_plan_group(plan: *const Plan, group: usize, out: *mut Group) -> c_int;
        pub fn mrrope_plan_free(plan: *mut Plan);
    }
}

/// The sentence of the last error where the status says that there is one.
fn check(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(sys::mrrope_last_error()) }.to_string_lossy().into_owned())
}

struct Spec(*mut sys::Spec);

impl Spec {
    fn from_numbers(rotary_dim: i32, base: f64, context_trained: i64) -> Result<Spec, String> {
        let mut spec = ptr::null_mut();
        check(unsafe { sys::mrrope_spec_from_numbers(rotary_dim, base, context_trained, &mut spec) })?;
        Ok(Spec(spec))
    }
}

impl Drop for Spec {
    fn drop(&mut self) {
        unsafe { sys::mrrope_spec_free(self.0) }
    }
}

struct Plan(*mut sys::Plan);

impl Plan {
    fn make(spec: &Spec, target: i64, method: &str) -> Result<Plan, String> {
        let method = CString::new(method).map_err(|error| error.to_string())?;
        let mut plan = ptr::null_mut();
        check(unsafe { sys::mrrope_plan_make(spec.0, target, method.as_ptr(), 0, &mut plan) })?;
        Ok(Plan(plan))
    }

    /// Speeds and attention scale of a group; the slice lives as long as the plan.
    fn table(&self, group: usize) -> Result<(&[f64], f64), String> {
        let mut out = std::mem::MaybeUninit::<sys::Group>::uninit();
        check(unsafe { sys::mrrope_plan_group(self.0, group, out.as_mut_ptr()) })?;
        let out = unsafe { out.assume_init() };
        Ok((unsafe { std::slice::from_raw_parts(out.inv_freq, out.pairs) }, out.attention_scale))
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        unsafe { sys::mrrope_plan_free(self.0) }
    }
}

fn number<T: std::str::FromStr>(word: Option<&&str>) -> Result<T, String> {
    word.and_then(|word| word.parse().ok()).ok_or_else(|| format!("no number: {:?}", word))
}

fn reproduce(line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split(' ').collect();
    let spec = Spec::from_numbers(number(words.get(2))?, number(words.get(3))?, number(words.get(4))?)?;
    let plan = Plan::make(&spec, number(words.get(5))?, words[1])?;
    drop(spec); // the plan lives on
    let (speeds, scale) = plan.table(0)?;
    if (scale - number::<f64>(words.get(6))?).abs() > 1e-12 || speeds.len() != number::<usize>(words.get(7))? {
        return Err("another attention scale, or number of pairs".into());
    }
    for (i, speed) in speeds.iter().enumerate() {
        let expected: f64 = number(words.get(8 + i))?;
        if !((speed - expected).abs() <= 5e-7 * expected) {
            return Err(format!("pair {}: {} instead of {}", i, speed, expected)); // the authors compute in float32
        }
    }
    Ok(())
}

fn main() {
    let mut tables = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("stdin");
        if let Err(error) = reproduce(&line) {
            println!("{}: {}", &line[..60.min(line.len())], error);
            std::process::exit(1);
        }
        tables += 1;
    }
    let error = Spec::from_numbers(127, 10000.0, 4096).err().expect("an odd dimension is refused");
    assert!(error.contains("rotary_dim: expected an even number"), "{}", error);
    println!("{} tables", tables);
}
