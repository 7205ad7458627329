//! The start of a scenario's server: its app, its environment, the proxy before it, and its configuration for the report.

use super::Matrix;
use super::arm_run::ArmRun;
use crate::apps;
use crate::database::{Database, PASSWORD, USER};
use crate::problem::{Problem, Result};
use crate::proxy;
use crate::run_dir::certificate;
use crate::runtimes::{Launch, Server, Tools, setting};
use crate::scenarios::Arm;
use report::File;
use std::path::{Path, PathBuf};

/// The extensions of configuration files.
const CONFIGURATION: [&str; 5] = ["conf", "ini", "yaml", "toml", "json"];

impl Matrix<'_> {
    /// Starts the arm's server, and notes its configuration at the first start.
    pub(super) fn start(
        &self,
        program: &Path,
        one: &mut ArmRun,
        database: Option<&Database>,
    ) -> Result<Server> {
        let arm = &one.arm;
        let launch = self.launch(arm, database)?;
        let mut server = arm.runtime.start(program, self.tools, &launch, self.dir)?;
        if let Some(proxy) = arm.proxy {
            let entry = arm.runtime.entry();
            proxy::put_before(&mut server, proxy, entry, self.tools, self.dir)?;
        }
        if one.cells.iter().all(|cell| cell.config.is_empty()) {
            let mut config = server.settings.clone();
            config.extend(database.into_iter().flat_map(|db| db.settings.clone()));
            if arm.site.is_none() {
                let of_php = apps::settings(arm.runtime.form(), &launch.app, &server.base);
                config.extend(of_php.iter().map(|(name, value)| setting(name, value)));
            }
            let files = self.files_of(&launch.name, one.arm.proxy.is_some());
            for cell in &mut one.cells {
                cell.config.clone_from(&config);
                cell.files.clone_from(&files);
            }
        }
        Ok(server)
    }

    /// Returns the configuration files that were made for a server, without the path of the run's own folder, which no
    /// longer exists when they are read.
    fn files_of(&self, name: &str, is_behind_proxy: bool) -> Vec<File> {
        let mut folders = vec![name.to_owned(), format!("{name}-ini")];
        folders.extend(is_behind_proxy.then(|| "proxy".to_owned()));
        let own = self.dir.path().display().to_string();
        let mut files = Vec::new();
        for folder in folders {
            let entries = std::fs::read_dir(self.dir.path().join(&folder));
            for path in entries
                .into_iter()
                .flatten()
                .flatten()
                .map(|one| one.path())
            {
                let extension = path.extension().and_then(|one| one.to_str());
                if !extension.is_some_and(|one| CONFIGURATION.contains(&one)) {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                files.push(File {
                    name: path
                        .file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned(),
                    text: text.replace(&own, "…"),
                });
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files
    }

    /// Returns the app and all settings that the arm's server is started with.
    fn launch(&self, arm: &Arm, database: Option<&Database>) -> Result<Launch> {
        let column = match arm.column {
            report::Column::AsSeed => "as-seed",
            report::Column::Fair => "fair",
        };
        let name = format!("{}-{column}", arm.runtime.id());
        let app = self.app(arm, &name, database)?;
        let environment = self.environment(arm, &app, database)?;
        let tls = arm.tls.then(|| certificate(self.dir)).transpose()?;
        Ok(Launch {
            app,
            script: arm.script.clone(),
            workers: arm.workers,
            connections: arm.connections(),
            tuning: arm.tuning(),
            front_controller: arm.front_controller,
            tls,
            compress: arm.compress,
            ini: arm.ini.clone(),
            environment,
            name,
        })
    }

    /// Returns the folder of the app: the user's own site, or the scenario's app, written out.
    fn app(&self, arm: &Arm, name: &str, database: Option<&Database>) -> Result<PathBuf> {
        if let Some(site) = &arm.site {
            return Ok(site.clone());
        }
        let mut content = arm.content.clone();
        if let Some(database) = database {
            database.configure(&mut content);
        }
        let folder = format!("app-{name}");
        apps::write(&content, arm.runtime.form(), &folder, self.dir)
    }

    fn environment(
        &self,
        arm: &Arm,
        app: &Path,
        database: Option<&Database>,
    ) -> Result<Vec<(String, String)>> {
        let mut all = arm.environment.clone();
        let Some(database) = database else {
            return Ok(all);
        };
        let go = database
            .go_dsn
            .iter()
            .map(|dsn| ("BENCH_GO_DSN", dsn.clone()));
        all.extend(go.map(|(name, value)| (name.to_owned(), value)));
        if !arm.pool.is_empty() {
            let experiment = pool_experiment(self.tools, app, &arm.pool, database)?;
            all.push(("POOL_EXPERIMENT".to_owned(), experiment));
        }
        Ok(all)
    }
}

/// Returns the parameters of the pool's experiment as its app takes them, completed and checked by its own PHP code.
fn pool_experiment(
    tools: &Tools,
    app: &Path,
    words: &[String],
    database: &Database,
) -> Result<String> {
    let php = tools
        .program("php", &["php"])
        .ok_or_else(|| Problem::failed("no php"))?;
    let code = "require $argv[1]; try { echo Parameters::fromArguments(array_slice($argv, 2))->toJson(); } \
                catch (InvalidArgumentException $e) { fwrite(STDERR, $e->getMessage()); exit(2); }";
    let mut command = std::process::Command::new(php);
    command
        .args(["-r", code, "--"])
        .arg(app.join("parameters.php"));
    // Arguments of the user come later and take precedence.
    let ours = [
        ("dsn", database.dsn.as_str()),
        ("username", USER),
        ("password", PASSWORD),
    ];
    command
        .args(ours.map(|(name, value)| format!("--connection.{name}={value}")))
        .args(words);
    let output = command.output().map_err(Problem::failed)?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Problem::Usage(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ))
    }
}
