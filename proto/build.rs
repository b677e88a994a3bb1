//! Compiles the contract with a pure-Rust compiler and keeps its descriptor set for `Tools.Describe`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=mosaic");
    let files = [
        "mosaic/broker/v1/tools.proto",
        "mosaic/broker/v1/control.proto",
    ];
    let set = protox::compile(files, ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), set.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(set)?;
    Ok(())
}
