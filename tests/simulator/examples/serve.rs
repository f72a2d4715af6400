//! Runs the simulator by hand: `cargo run -p baton-simulator --example serve`, then point an agent at the printed URL.

use baton_simulator::{Script, Simulator, Turn};

fn main() -> std::io::Result<()> {
    let hello = std::env::current_dir()?.join("hello.txt");
    let script = Script::new().otherwise([Turn::write(hello.display(), "hello\n"), Turn::say("Written.")]);
    let simulator = Simulator::start(script)?;
    println!("ANTHROPIC_BASE_URL={}\nEnter ends it.", simulator.url());
    std::io::stdin().read_line(&mut String::new())?;
    for request in simulator.requests() {
        println!("{:>8} tokens, {} results: {:?}", request.prompt_tokens, request.results, request.answered);
    }
    Ok(())
}
