//! Numbers and lists in short, for people.

use std::fmt::Display;

/// Tokens: "850", "24.1k", "152k", "1.2M".
pub fn format_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..100_000 => format!("{:.1}k", tokens as f64 / 1e3),
        100_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

/// Millionths of a dollar, in dollars: "$0.12".
pub fn dollars(microusd: u64) -> String {
    format!("${:.2}", microusd as f64 / 1e6)
}

/// "a, b and 3 more": the things in a list, only the first of them if there are more than `most`.
pub fn first_of<T: Display>(things: &[T], most: usize) -> String {
    let named: Vec<String> = things.iter().take(most).map(T::to_string).collect();
    match things.len().saturating_sub(most) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
