//! Variables of agents and of the providers of their models.

use super::kind::VariableKind::{self, Address, Key, Model, PartOfAddress, Plain, Provider, Runs, Setting};

/// Agents, as names of their variables begin: any such variable may be a setting, of which some run programs.
const AGENTS: &[&str] = &[
    "AIDER_", "AMP_", "AUGMENT_", "CLAUDE_CODE_", "CLAUDE_CONFIG_", "CLINE_", "CODEBUFF_", "CODEX_",
    "COPILOT_", "CRUSH_", "FAST_AGENT_", "GEMINI_CLI_", "GITHUB_COPILOT_", "GOOSE_", "IFLOW_", "KILO_",
    "NANOCODER_", "OPENCODE_", "OPENHANDS_", "QWEN_", "VIBE_",
];

/// Settings of agents whose names begin like a provider's, or like those of other programs.
const OF_AGENTS: &[&str] = &[
    "ANTHROPIC_CONFIG_DIR",
    "ANTHROPIC_CUSTOM_HEADERS",
    "BUILD_SANDBOX",
    "CONTINUE_GLOBAL_DIR",
    "GEMINI_EXP",
    "GEMINI_RESTRICTED_MODE",
    "GEMINI_SANDBOX",
    "GEMINI_SANDBOX_IMAGE",
    "GEMINI_SANDBOX_PROXY_COMMAND",
    "GEMINI_SYSTEM_MD",
    "GEMINI_WRITE_SYSTEM_MD",
    "GOOGLE_CLOUD_UNIVERSE_DOMAIN",
    "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES",
    "KIRO_HOME",
    "SANDBOX_ENV",
    "SANDBOX_FLAGS",
    "SANDBOX_MOUNTS",
    "SANDBOX_PORTS",
    "SEATBELT_PROFILE",
];

/// Providers of models, as names of their variables begin.
const PROVIDERS: &[&str] = &[
    "ANTHROPIC_", "AZURE_OPENAI_", "BEDROCK_", "CLAUDE_", "CODE_ASSIST_", "COHERE_", "DASHSCOPE_",
    "DEEPSEEK_", "FIREWORKS_", "GEMINI_", "GOOGLE_GEMINI_", "GOOGLE_VERTEX_", "GROQ_", "LITELLM_", "LLM_",
    "LMSTUDIO_", "LM_STUDIO_", "MISTRAL_", "MODELSCOPE_", "MOONSHOT_", "OCO_", "OLLAMA_", "OPENAI_",
    "OPENROUTER_", "PERPLEXITY_", "TOGETHER_", "VERTEXAI_", "VERTEX_", "XAI_", "ZAI_",
];

/// How those of a provider end that say where it is.
const ADDRESSES: &[&str] = &["_BASE", "_BASEURL", "_ENDPOINT", "_HOST", "_URI", "_URL"];

/// How those end that are a part of its address, wherever it is.
const PARTS_OF_ADDRESSES: &[&str] =
    &["_ACCOUNT_ID", "_INSTANCE_NAME", "_LOCATION", "_REGION", "_RESOURCE_NAME"];

/// Returns what a variable of an agent or of a provider does.
pub(super) fn kind(name: &str) -> Option<VariableKind> {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let is_key = name.ends_with("_API_KEY") || name.ends_with("_TOKEN");
    let is_address = ADDRESSES.iter().any(|end| name.ends_with(end));
    let is_part_of_address = PARTS_OF_ADDRESSES.iter().any(|end| name.ends_with(end));
    let is_agents = begins(AGENTS);
    match name {
        _ if OF_AGENTS.contains(&name) => Some(Runs),
        // Whatever it is, Gemini CLI takes itself for one that is in its sandbox. To other projects it is a switch.
        "SANDBOX" => Some(Setting),
        _ if is_agents && is_key => Some(Key),
        _ if is_agents && name.ends_with("_MODEL") => Some(Model),
        _ if is_agents => Some(Runs),
        _ if begins(PROVIDERS) && is_address => Some(Provider),
        _ if begins(PROVIDERS) && is_part_of_address => Some(PartOfAddress),
        // One for each model.
        _ if name.starts_with("VERTEX_REGION_") => Some(PartOfAddress),
        _ if name.starts_with("GEMINI_") && !is_key => Some(Plain),
        _ if name.starts_with("OTEL_EXPORTER_") && is_address => Some(Address),
        _ => None,
    }
}
