//! `KEY=VALUE` on the command line.

use crate::exit::UsageError;

/// Splits `KEY=VALUE`.
pub fn key_value(word: &str) -> anyhow::Result<(String, String)> {
    match word.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(UsageError::new(format!("{word:?} is not KEY=VALUE"), "for example beta_q10=717").into()),
    }
}

/// Refuses a key that is given twice: only one of its values could be meant.
pub fn key_values(words: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for word in words {
        let (key, value) = key_value(word)?;
        if pairs.iter().any(|(known, _)| *known == key) {
            return Err(UsageError::new(format!("{key} is set twice"), format!("{key}=VALUE once")).into());
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}
