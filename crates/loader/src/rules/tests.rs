//! Compiled rules against the rules themselves.
