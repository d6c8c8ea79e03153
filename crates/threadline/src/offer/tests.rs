//! What configurations and environments offer.

use toml::from_str;

use super::*;

fn offer(config: &str, set: &[(&str, &str)]) -> anyhow::Result<Offer> {
    let file: File = from_str(config).unwrap();
    let variables = |name: &str| {
        set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    Offer::new(&file, &variables)
}

fn names(offer: &Offer) -> Vec<&str> {
    offer.models.iter().map(|offered| &*offered.target.name).collect()
}

fn url(offer: &Offer, name: &str) -> String {
    offer.model(name).unwrap().access.as_ref().unwrap().url.clone()
}

#[test]
fn with_nothing_there_is_the_built_in_model() {
    assert_eq!(names(&offer("", &[]).unwrap()), ["guide"]);
}

#[test]
fn keys_of_the_environment_bring_their_models() {
    let set = [
        ("OPENAI_API_KEY", "k"),
        ("GOOGLE_API_KEY", "k"),
        ("AZURE_OPENAI_API_KEY", "k"),
        ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/"),
        ("AZURE_OPENAI_DEPLOYMENT", "mine"),
        ("DEEPSEEK_API_KEY", "k"),
        ("DEEPSEEK_BASE_URL", "http://proxy/v1"),
    ];
    let offer = offer("", &set).unwrap();
    assert_eq!(names(&offer), ["gpt-5.6", "gemini-flash-latest", "mine", "deepseek-chat", "guide"]);
    assert_eq!(url(&offer, "mine"), "https://r.openai.azure.com/openai/v1/responses");
    assert_eq!(url(&offer, "deepseek-chat"), "http://proxy/v1/chat/completions");
    let key = offer.model("gemini-flash-latest").unwrap().access.clone().unwrap().key.unwrap().1;
    assert_eq!(key, KeyRef::Env("GOOGLE_API_KEY".into()));
}

#[test]
fn azure_without_an_address_or_a_deployment_is_not_there() {
    assert_eq!(names(&offer("", &[("AZURE_OPENAI_API_KEY", "k")]).unwrap()), ["guide"]);
}

#[test]
fn a_config_names_endpoints_and_models() {
    let config = r#"
        [endpoints.work]
        provider = "openai"
        key = { env = "WORK_KEY" }
        [endpoints.box]
        base_url = "http://box:9000/v1"
        dialect = "openai-chat"
        headers = { x-team = "red" }
        [endpoints.east]
        provider = "azure"
        base_url = "https://east.openai.azure.com"
        deployment = "d1"
        api_version = "2024-10-21"
        [models.smart]
        endpoint = "work"
        model = "gpt-5"
        dialect = "openai-chat"
        [models.small]
        endpoint = "box"
        window_tokens = 16000
        like = "qwen3"
        [models.d1]
        endpoint = "east"
        like = "gpt-4o"
        [routes.plan]
        models = ["smart", "small", "guide"]
        strategy = "fallback"
    "#;
    let offer = offer(config, &[]).unwrap();
    assert_eq!(names(&offer), ["smart", "small", "d1", "guide"]);
    let smart = offer.model("smart").unwrap();
    assert_eq!(smart.target.unusable.as_deref(), Some("WORK_KEY is not set"));
    assert_eq!(smart.target.invocation.account.as_deref(), Some("work"));
    assert_eq!(url(&offer, "smart"), "https://api.openai.com/v1/chat/completions");
    let small = offer.model("small").unwrap();
    assert_eq!(small.target.profile.window_tokens, 16_000);
    assert_eq!(&*small.target.invocation.provider, "box");
    assert_eq!(small.target.unusable, None);
    assert_eq!(small.access.clone().unwrap().headers, [("x-team".to_owned(), "red".to_owned())]);
    assert_eq!(
        url(&offer, "d1"),
        "https://east.openai.azure.com/openai/deployments/d1/chat/completions?api-version=2024-10-21"
    );
    assert_eq!(offer.model("d1").unwrap().target.profile.window_tokens, 128_000);
    assert_eq!(offer.routes[0].strategy, threadline_core::choose::Strategy::Fallback);
}

#[test]
fn an_entry_of_a_models_own_name_describes_it() {
    let config = "[models.\"gpt-5.6\"]\nwindow_tokens = 50000";
    let offer = offer(config, &[("OPENAI_API_KEY", "k")]).unwrap();
    assert_eq!(names(&offer), ["gpt-5.6", "guide"]);
    assert_eq!(offer.model("gpt-5.6").unwrap().target.profile.window_tokens, 50_000);
}

#[test]
fn a_name_that_says_enough_can_be_wanted() {
    let mut offer = offer("", &[("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "k")]).unwrap();
    for (name, wanted) in [
        ("gpt-4o", "https://api.openai.com/v1/responses"),
        ("groq/llama-3.3-70b-versatile", "https://api.groq.com/openai/v1/chat/completions"),
        ("openai/ft:mine", "https://api.openai.com/v1/responses"),
        ("ollama/qwen3:8b", "http://localhost:11434/v1/chat/completions"),
        ("claude-opus-5", "https://api.anthropic.com/v1/messages"),
        ("mistral-small-latest", "https://api.mistral.ai/v1/chat/completions"),
    ] {
        offer.want(name).unwrap();
        assert_eq!(url(&offer, name), wanted);
    }
    assert_eq!(*names(&offer).last().unwrap(), "guide");
    let told = offer.want("guid").unwrap_err().to_string();
    assert!(told.contains("did you mean guide?"), "{told}");
    assert!(offer.want("openai/").is_err());
}

#[test]
fn who_relays_models_is_asked_for_those_of_others() {
    let mut offer = offer("", &[("OPENROUTER_API_KEY", "k"), ("GROQ_API_KEY", "k")]).unwrap();
    offer.want("meta-llama/llama-4").unwrap();
    offer.want("groq/some").unwrap();
    assert_eq!(url(&offer, "meta-llama/llama-4"), "https://openrouter.ai/api/v1/chat/completions");
    let invocation = &offer.model("meta-llama/llama-4").unwrap().target.invocation;
    assert_eq!(&*invocation.model, "meta-llama/llama-4");
    assert_eq!(url(&offer, "groq/some"), "https://api.groq.com/openai/v1/chat/completions");
}

#[test]
fn what_makes_no_endpoint_is_told() {
    for (config, wanted) in [
        ("[endpoints.x]\nprovider = \"opnai\"", "did you mean openai?"),
        ("[endpoints.x]\nbase_url = \"http://x\"", "endpoints.x: dialect: say which"),
        ("[endpoints.x]", "name its provider"),
        ("[endpoints.azure]", "base_url: say where it is"),
        ("[endpoints.openai]\ndeployment = \"d\"", "only for azure"),
        ("[endpoints.openai]\nbase_url = \"api.openai.com\"", "give a whole address"),
        ("[endpoints.openai]\nbase_url = \"https://me:pw@host\"", "holds no password"),
        ("[endpoints.openai]\nheaders = { Authorization = \"Bearer x\" }", "cannot be set"),
        ("[endpoints.openai]\nheaders = { x-a = \"a\\nb\" }", "in one line"),
        ("[models.mine]", "models.mine: name its endpoint"),
        ("[models.mine]\nendpoint = \"nowhere\"", "no endpoint named \"nowhere\""),
        ("[routes.r]\nmodels = []", "name at least one model"),
        ("[routes.r]\nmodels = [\"nothing\"]", "routes.r.models: there is no model"),
        ("[routes.r]\nmodels = [\"s\"]\n[routes.s]\nmodels = [\"guide\"]", "is a route"),
    ] {
        let told = offer(config, &[]).unwrap_err().to_string();
        assert!(told.contains(wanted), "{config}: {told}");
    }
}
