//! `KEY=VALUE` on the command line.

use crate::engine::{Setting, Settings};
use crate::exit::UsageError;

/// Splits `KEY=VALUE`.
pub fn key_value(word: &str) -> anyhow::Result<(String, String)> {
    match word.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(UsageError::new(format!("{word:?} is not KEY=VALUE"), "for example beta_q10=717").into()),
    }
}

/// Refuses a key that is given twice: only one of its values could be meant.
pub fn settings(words: &[String]) -> anyhow::Result<Settings> {
    let mut settings = Settings::new();
    for word in words {
        let (key, value) = key_value(word)?;
        if settings.contains_key(&key) {
            return Err(UsageError::new(format!("{key} is set twice"), format!("{key}=VALUE once")).into());
        }
        settings.insert(key, Setting::Word(value));
    }
    Ok(settings)
}
