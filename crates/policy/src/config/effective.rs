//! Effective settings: the layers merged, and the provider that follows from them.
//!
//! Flags win over the environment, that over the project's file, that over the user's file, and that over the
//! defaults. Within a table whose names the file chooses, each name is one setting. Scalars and lists replace
//! what is beneath; `protect.paths` and `protect.hide` add up, because a layer must not lose what another protects, and so do
//! `--allow-host` and `--expose`, each of which names one more.

use std::collections::BTreeMap;
use std::path::Path;

use crate::agents::Profile;
use crate::config::key::join;
use crate::config::problem::{Located, Location, Scope};
use crate::config::schema::KEYS;
pub use crate::config::show::SettingRow;
use crate::config::show::{Rows, Show};
use crate::config::{
    AgentTable, ChildrenTable, CommandsTable, Config, ContainerTable, EnvTable, GeneralTable, GitTable,
    HomeTable, ImageTable, LifecycleTable, LimitsTable, List, NativeTable, NetworkTable, PoolTable,
    ProtectTable, ProviderChoice, SecretMode, SecretTable,
};
use crate::plan::{Layer, Provider};

/// Every setting that holds, each with the place it comes from. What is not set has its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effective {
    settings: Config,
    engine: Option<EngineAnswer>,
}

/// Whether a container engine answers on this machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EngineAnswer {
    By(Provider),
    /// None does, for this reason.
    None(String),
}

impl Effective {
    /// Lists the layers of which something was asked for that no default asks for: limits, and what to protect.
    pub fn requested_layers(&self) -> Vec<Layer> {
        let Config { limits, protect, .. } = &self.settings;
        let requested = [
            (Layer::Memory, limits.memory.is_some()),
            (Layer::Cpu, limits.cpus.is_some()),
            (Layer::Pids, limits.pids.is_some()),
            (Layer::Protect, protect.paths.is_some() || protect.depth.is_some()),
        ];
        requested.into_iter().filter(|(_, is_asked)| *is_asked).map(|(layer, _)| layer).collect()
    }

    /// Merges layers, the weakest first.
    pub fn merge(layers: impl IntoIterator<Item = Config>) -> Self {
        let settings = layers.into_iter().fold(Config::default(), |beneath, layer| over(layer, beneath));
        Self { settings, engine: None }
    }

    /// Returns whether `auto` has to know if a container engine answers. Otherwise no engine is queried, which takes time.
    pub fn needs_engine_query(&self) -> bool {
        let provider =
            self.settings.general.provider.as_ref().map(|provider| provider.value).unwrap_or_default();
        provider == ProviderChoice::Auto && self.needs_engine().is_some()
    }

    /// Returns what an engine is wanted for: its key, and where that stands. What no other provider has comes first.
    fn needs_engine(&self) -> Option<(&'static str, &Location)> {
        let image = self.settings.has_image.as_ref().map(|location| ("[image]", location));
        self.settings.only_in_containers().into_iter().next().or(image)
    }

    /// Returns, as a sentence, what is ignored because no engine answers, although no setting allows that.
    pub fn ignored(&self) -> Option<String> {
        let (provider, reason) = self.provider();
        (!provider.runs_containers() && self.needs_engine_query()).then_some(reason).flatten()
    }

    /// Adds whether one does.
    pub fn with_engine(&mut self, answer: EngineAnswer) {
        self.engine = Some(answer);
    }

    /// Names the image of a project that says what is in it and not what it is called: what others build and run under the
    /// default name, or under the user's, stays theirs.
    pub fn with_own_image(&mut self, name: String) {
        let image = &self.settings.image;
        let places = [
            image.base.as_ref().map(|setting| &setting.location),
            image.packages.as_ref().map(|setting| &setting.location),
            image.platforms.as_ref().map(|setting| &setting.location),
            image.dockerfile.as_ref().map(|setting| &setting.location),
            image.ca_certificates.as_ref().map(|setting| &setting.location),
        ];
        let arguments = self.settings.build_args.values().map(|value| &value.location);
        let configured =
            places.into_iter().flatten().chain(arguments).find(|location| location.is_projects()).cloned();
        let is_the_users =
            |name: &Located<String>| matches!(name.location, Location::File { scope: Scope::User, .. });
        let is_named = image.name.as_ref().is_some_and(|name| !is_the_users(name));
        if let (Some(location), false) = (configured, is_named) {
            self.settings.image.name = Some(Located::new(name, location));
        }
    }

    /// Returns the profile of an agent that is asked for.
    pub fn profile(&self) -> Option<&Located<Profile>> {
        self.settings.agent.profile.as_ref()
    }

    /// Lists the secrets in proxy mode: the name of each, by that of its provider.
    pub fn proxied(&self) -> BTreeMap<String, String> {
        let proxied = self.settings.secrets.iter().filter_map(|(name, secret)| {
            let SecretTable { mode, provider, .. } = &secret.value;
            mode.as_ref().filter(|mode| mode.value == SecretMode::Proxy)?;
            Some((provider.as_ref()?.value.to_string(), name.clone()))
        });
        proxied.collect()
    }

    /// Puts the settings of a profile beneath all others; its hosts and toolchains are added to theirs. A command of theirs that is the
    /// agent's program gets the profile's arguments.
    pub fn with_profile(&mut self, mut profile: Config) {
        let settings = std::mem::take(&mut self.settings);
        let start = profile.agent.command.as_ref().map(|command| command.value.clone()).unwrap_or_default();
        let allow = profile.network.allow.take();
        let intercept = profile.network.intercept.take();
        let expose = profile.native.expose.take();
        // What it shares comes beside the working directory, as what a flag shares does.
        profile.has_shared_dirs = None;
        let mut merged = over(settings, profile);
        merged.network.allow = added(merged.network.allow, allow);
        merged.network.intercept = added(merged.network.intercept, intercept);
        merged.native.expose = added(merged.native.expose, expose);
        if let (Some(command), [program, arguments @ ..]) = (&mut merged.agent.command, &start[..]) {
            let is_theirs = !matches!(command.location, Location::File { scope: Scope::Profile, .. });
            let is_it =
                command.value.first().is_some_and(|word| Path::new(word).file_name() == Some(program));
            if is_theirs && is_it {
                command.value.splice(1..1, arguments.iter().cloned());
            }
        }
        self.settings = merged;
    }

    /// Returns who runs the sandbox, and why when it was not asked for by name.
    pub fn provider(&self) -> (Provider, Option<String>) {
        match (self.settings.general.provider.as_ref().map(|provider| provider.value), self.needs_engine()) {
            (Some(ProviderChoice::Named(provider)), _) => (provider, None),
            (_, None) => {
                (Provider::Native, Some("no [image] is asked for, so no engine is needed".to_owned()))
            }
            (_, Some((key, location))) => match &self.engine {
                Some(EngineAnswer::By(engine)) => {
                    (*engine, Some(format!("{key} ({location}) is asked for, and {engine} answers")))
                }
                Some(EngineAnswer::None(why)) => {
                    (Provider::Native, Some(format!("{key} ({location}) is ignored: {why}")))
                }
                None => {
                    (Provider::Native, Some(format!("{key} ({location}) is ignored: no engine was queried")))
                }
            },
        }
    }

    /// Returns the settings, without the defaults.
    pub fn settings(&self) -> &Config {
        &self.settings
    }

    /// Lists every setting as a person reads it, in the order of the reference page, defaults included.
    pub fn rows(&self) -> Vec<SettingRow> {
        rows(&self.settings)
    }
}

fn over(layer: Config, beneath: Config) -> Config {
    Config {
        name: layer.name.or(beneath.name),
        platform: layer.platform.or(beneath.platform),
        general: GeneralTable::over(layer.general, beneath.general),
        agent: AgentTable::over(layer.agent, beneath.agent),
        home: HomeTable::over(layer.home, beneath.home),
        has_image: layer.has_image.or(beneath.has_image),
        image: ImageTable::over(layer.image, beneath.image),
        build_args: by_name(layer.build_args, beneath.build_args),
        has_shared_dirs: layer.has_shared_dirs.or(beneath.has_shared_dirs),
        shared_dirs: by_name(layer.shared_dirs, beneath.shared_dirs),
        sockets: by_name(layer.sockets, beneath.sockets),
        env: EnvTable {
            pass: layer.env.pass.or(beneath.env.pass),
            also_pass: by_name(layer.env.also_pass, beneath.env.also_pass),
            set: by_name(layer.env.set, beneath.env.set),
            unset: by_name(layer.env.unset, beneath.env.unset),
        },
        secrets: by_name(layer.secrets, beneath.secrets),
        network: network(layer.network, beneath.network),
        limits: LimitsTable::over(layer.limits, beneath.limits),
        git: GitTable::over(layer.git, beneath.git),
        protect: protect(layer.protect, beneath.protect),
        native: native(layer.native, beneath.native),
        container: ContainerTable::over(layer.container, beneath.container),
        lifecycle: LifecycleTable::over(layer.lifecycle, beneath.lifecycle),
        pool: PoolTable::over(layer.pool, beneath.pool),
        children: ChildrenTable::over(layer.children, beneath.children),
        commands: CommandsTable::over(layer.commands, beneath.commands),
        command_rules: by_name(layer.command_rules, beneath.command_rules),
        workers: by_name(layer.workers, beneath.workers),
    }
}

/// Adds the entries of a list that are not there yet.
fn added<T: PartialEq>(list: List<T>, more: List<T>) -> List<T> {
    match (list, more) {
        (Some(mut list), Some(more)) => {
            let is_new = |one: &Located<T>| !list.value.iter().any(|old| old.value == one.value);
            let new: Vec<_> = more.value.into_iter().filter(is_new).collect();
            list.value.extend(new);
            Some(list)
        }
        (list, more) => list.or(more),
    }
}

fn network(mut layer: NetworkTable, mut beneath: NetworkTable) -> NetworkTable {
    if was_typed(layer.allow.as_ref()) {
        layer.allow = added(layer.allow, beneath.allow.take());
    }
    layer.over(beneath)
}

fn native(mut layer: NativeTable, mut beneath: NativeTable) -> NativeTable {
    if was_typed(layer.expose.as_ref()) {
        layer.expose = added(layer.expose, beneath.expose.take());
    }
    layer.over(beneath)
}

/// Returns whether a list comes from a flag, which names one more of what the files list.
fn was_typed<T>(list: Option<&Located<Vec<Located<T>>>>) -> bool {
    list.is_some_and(|list| matches!(list.location, Location::Flag(_)))
}

fn protect(mut layer: ProtectTable, mut beneath: ProtectTable) -> ProtectTable {
    add_up(&mut layer.paths, &mut beneath.paths);
    add_up(&mut layer.hide, &mut beneath.hide);
    layer.over(beneath)
}

/// Puts the entries of the list beneath in front of those of a layer.
fn add_up<T>(layer: &mut List<T>, beneath: &mut List<T>) {
    if let (Some(all), Some(more)) = (beneath, layer) {
        all.value.append(&mut more.value);
        std::mem::swap(&mut all.value, &mut more.value);
    }
}

fn by_name<K: Ord, V>(layer: BTreeMap<K, V>, mut beneath: BTreeMap<K, V>) -> BTreeMap<K, V> {
    beneath.extend(layer);
    beneath
}

fn rows(config: &Config) -> Vec<SettingRow> {
    let mut rows = Rows::default();
    config.general.show(&mut rows, "");
    config.agent.show(&mut rows, "agent");
    config.home.show(&mut rows, "home");
    config.image.show(&mut rows, "image");
    for (name, value) in &config.build_args {
        located(&mut rows, "image.build_args", name, value);
    }
    for (name, table) in &config.shared_dirs {
        table.value.show(&mut rows, &join("shared_dirs", name));
    }
    for (name, table) in &config.sockets {
        table.value.show(&mut rows, &join("sockets", name));
    }
    pass(&mut rows, &config.env);
    for (name, value) in &config.env.set {
        located(&mut rows, "env.set", name.as_str(), value);
    }
    if let Some(location) = config.env.unset.values().max() {
        let names: Vec<String> = config.env.unset.keys().map(Show::show).collect();
        rows.insert("env.unset".to_owned(), format!("[{}]", names.join(", ")), location.origin());
    }
    for (name, table) in &config.secrets {
        table.value.show(&mut rows, &join("secrets", name));
    }
    config.network.show(&mut rows, "network");
    config.limits.show(&mut rows, "limits");
    config.git.show(&mut rows, "git");
    config.protect.show(&mut rows, "protect");
    config.native.show(&mut rows, "native");
    config.container.show(&mut rows, "container");
    config.lifecycle.show(&mut rows, "lifecycle");
    config.pool.show(&mut rows, "pool");
    config.children.show(&mut rows, "children");
    config.commands.show(&mut rows, "commands");
    for (name, table) in &config.command_rules {
        table.value.show(&mut rows, &join("commands.rules", name));
    }
    for (name, table) in &config.workers {
        table.value.show(&mut rows, &join("workers", name));
    }
    rows.into_ordered(KEYS)
}

/// Shows what passes as one list, whichever layers name its parts.
fn pass(rows: &mut Rows, env: &EnvTable) {
    let listed = env.pass.iter().flat_map(|list| &list.value).map(|name| &name.value);
    let names: Vec<String> = listed.chain(env.also_pass.keys()).map(Show::show).collect();
    let location = env.also_pass.values().next().or(env.pass.as_ref().map(|list| &list.location));
    if let Some(location) = location {
        rows.insert("env.pass".to_owned(), format!("[{}]", names.join(", ")), Location::origin(location));
    }
}

fn located<T: Show>(rows: &mut Rows, table: &str, name: &str, value: &Located<T>) {
    rows.insert(join(table, name), value.show(), value.location.origin());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigFile, PathBase};

    fn layer(scope: Scope, text: &str) -> Config {
        let label = if scope == Scope::User { "user.toml" } else { "sandbox.toml" };
        let base = PathBase { directory: "/project".into(), home: None };
        Config::parse(text, &ConfigFile { scope, label: label.into(), base }).unwrap()
    }

    fn merged(user: &str, project: &str) -> Effective {
        Effective::merge([layer(Scope::User, user), layer(Scope::Project, project)])
    }

    #[test]
    fn what_a_profile_shares_does_not_take_the_place_of_the_working_directory() {
        let instructions =
            "[shared_dirs.notes]\nhost = \"CLAUDE.md\"\nguest = \"/x/CLAUDE.md\"\nmode = \"ro\"";
        let with = |project: &str| {
            let mut effective = merged("", project);
            effective.with_profile(layer(Scope::Profile, instructions));
            let settings = effective.settings();
            (settings.has_shared_dirs.is_some(), settings.shared_dirs.contains_key("notes"))
        };
        assert_eq!(with(""), (false, true));
        assert_eq!(with("[shared_dirs]"), (true, true), "the control");
    }

    #[test]
    fn a_project_that_says_what_is_in_its_image_has_an_image_of_its_own() {
        let named = |user: &str, project: &str| {
            let mut effective = merged(user, project);
            effective.with_own_image("sandbox-project-0123".to_owned());
            effective.settings().image.name.as_ref().map(|name| name.value.clone())
        };
        let own = Some("sandbox-project-0123".to_owned());
        for configured in
            ["base = \"debian:13\"", "packages = []", "dockerfile = \"D\"", "build_args = { A = \"1\" }"]
        {
            let project = format!("[image]\n{configured}");
            assert_eq!(named("", &project), own, "{configured}");
            assert_eq!(named("image.name = \"mine\"", &project), own, "{configured}");
            assert_eq!(named("", &format!("{project}\nname = \"theirs\"")).unwrap(), "theirs");
            // The user's own file is for all projects, and has one name.
            assert_eq!(named(&format!("{project}\nname = \"mine\""), "[image]").unwrap(), "mine");
            assert_eq!(named(&project, "[limits]"), None);
        }
    }

    fn row(effective: &Effective, key: &str) -> String {
        let rows = effective.rows();
        let row = rows.iter().find(|row| row.key == key);
        row.map_or_else(|| "absent".to_owned(), |row| format!("{} from {}", row.value, row.origin))
    }

    #[test]
    fn the_stronger_layer_wins_setting_by_setting() {
        let effective = merged("[limits]\nmemory = \"1g\"\npids = 8", "[limits]\nmemory = \"2g\"");
        assert_eq!(row(&effective, "limits.memory"), "\"2g\" from sandbox.toml:2");
        assert_eq!(row(&effective, "limits.pids"), "8 from user.toml:3");
        assert_eq!(row(&effective, "limits.tmp_size"), "\"512m\" from default");
        assert_eq!(row(&effective, "container.runtime"), "absent");
    }

    #[test]
    fn tables_of_names_merge_by_name_and_a_name_is_replaced_whole() {
        let effective = merged(
            "[shared_dirs]\na = { host = \"/a\", guest = \"/a\", mode = \"ro\" }\nb = { host = \"/b\", guest = \"/b\" }\n[env]\nset = { A = \"1\", B = \"1\" }",
            "[shared_dirs]\na = { host = \"/c\", guest = \"/c\" }\n[env]\nset = { B = \"2\" }",
        );
        assert_eq!(row(&effective, "shared_dirs.a.host"), "\"/c\" from sandbox.toml:2");
        assert_eq!(row(&effective, "shared_dirs.a.mode"), "absent");
        assert_eq!(row(&effective, "shared_dirs.b.host"), "\"/b\" from user.toml:3");
        assert_eq!(row(&effective, "env.set"), "absent");
        assert_eq!(row(&effective, "env.set.A"), "\"1\" from user.toml:5");
        assert_eq!(row(&effective, "env.set.B"), "\"2\" from sandbox.toml:4");
    }

    #[test]
    fn lists_replace_but_protected_paths_add_up() {
        let effective = merged(
            "[env]\npass = [\"A\"]\n[protect]\npaths = [\"a\", \"b\"]",
            "[env]\npass = [\"B\"]\n[protect]\npaths = [\"c\"]",
        );
        assert_eq!(row(&effective, "env.pass"), "[\"B\"] from sandbox.toml:2");
        assert_eq!(row(&effective, "protect.paths"), "[\"a\", \"b\", \"c\"] from sandbox.toml:4");
        let one_file = merged("[protect]\npaths = [\"a\"]", "");
        assert_eq!(row(&one_file, "protect.paths"), "[\"a\"] from user.toml:2");
    }

    #[test]
    fn an_empty_table_of_directories_is_not_lost() {
        assert!(merged("[shared_dirs]", "").settings().has_shared_dirs.is_some());
        assert!(merged("", "").settings().has_shared_dirs.is_none());
    }

    #[test]
    fn rows_stand_in_the_order_of_the_reference_and_show_valid_toml() {
        let text = "limits.timeout = \"1h30m\"\n[agent]\ncommand = [\"a \\\"b\\\"\", \"c\\\\d\\n\\u007f\"]\n[secrets.x]\nmode = \"inject\"\nenv_var = \"X\"\nsource = \"env:X\"";
        let rows = merged("", text).rows();
        let position = |key: &str| rows.iter().position(|row| row.key == key).unwrap();
        assert!(position("version") < position("agent.command"));
        assert!(position("agent.command") < position("secrets.x.mode"));
        assert!(position("secrets.x.source") < position("network.mode"));
        let shown: Vec<String> = rows.iter().map(|row| format!("{} = {}", row.key, row.value)).collect();
        let again = merged("", &shown.join("\n"));
        let values = |rows: &[SettingRow]| rows.iter().map(|row| row.value.clone()).collect::<Vec<_>>();
        assert_eq!(values(&again.rows()), values(&rows));
    }

    #[test]
    fn nothing_set_shows_every_default() {
        let keys: Vec<String> = Effective::default().rows().into_iter().map(|row| row.key).collect();
        let defaults = KEYS.iter().filter(|key| !key.default.is_empty() && !key.path.contains('*'));
        assert_eq!(keys, defaults.map(|key| key.path).collect::<Vec<_>>());
    }
}
