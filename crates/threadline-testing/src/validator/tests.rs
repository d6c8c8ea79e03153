//! Every rule takes a valid body and refuses its mutants.
