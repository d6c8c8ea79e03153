//! Request bodies, rule by rule.
