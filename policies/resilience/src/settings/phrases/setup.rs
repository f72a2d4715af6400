//! What agents say that are not set up: nobody logged them in, or what they were given is refused.

pub(super) const LOGGED_OUT: &[&str] = &[
    "not logged in",
    "please run /login",
    "please log in",
    "please login",
    "login required",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "api key not valid",
    "no api key",
    "oauth token has expired",
    "token has expired",
    "authentication required",
    "not authenticated",
    "set an auth method",
];

pub(super) const MISSING_VARIABLE: &[&str] = &[
    "missing environment variable",
    "environment variable is not set",
    "environment variable not set",
    "environment variable is missing",
    "environment variable is required",
    "must specify the gemini_api_key",
    "_api_key is not set",
];

pub(super) const ROOT: &[&str] =
    &["cannot be used with root", "root/sudo privileges", "must not be run as root"];

pub(super) const REFUSED_ARGUMENT: &[&str] = &[
    "unknown option",
    "unknown argument",
    "unrecognized option",
    "unrecognized argument",
    "unexpected argument",
    "invalid option",
];

pub(super) const UNKNOWN_MODEL: &[&str] = &[
    "model not found",
    "model_not_found",
    "unknown model",
    "invalid model",
    "unsupported model",
    "issue with the selected model",
    "model does not exist",
    "requested model",
    "model is not supported",
];

pub(super) const UNREACHABLE: &[&str] = &[
    "connection refused",
    "connection error",
    "econnrefused",
    "enotfound",
    "enetunreach",
    "etimedout",
    "eai_again",
    "could not resolve",
    "dns error",
    "network is unreachable",
    "unable to connect",
    "error sending request",
    "fetch failed",
];
