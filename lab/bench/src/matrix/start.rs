//! A server of a scenario is started: its app, its environment, what stands before it, and what it is configured as.

use super::Matrix;
use super::going::Going;
use crate::apps;
use crate::database::{Database, PASSWORD, USER};
use crate::place::certificate;
use crate::problem::{Problem, Result};
use crate::proxy;
use crate::runtimes::{Launch, Server, Tools, setting};
use crate::scenarios::Arm;
use std::path::{Path, PathBuf};

impl Matrix<'_> {
    /// Starts the arm's server, and notes how it is configured when that is not known yet.
    pub(super) fn start(
        &self,
        program: &Path,
        one: &mut Going,
        database: Option<&Database>,
    ) -> Result<Server> {
        let arm = &one.arm;
        let launch = self.launch(arm, database)?;
        let mut server = arm
            .runtime
            .start(program, self.tools, &launch, self.place)?;
        if let Some(proxy) = arm.proxy {
            let entry = arm.runtime.entry();
            proxy::put_before(&mut server, proxy, entry, self.tools, self.place)?;
        }
        if one.cells.iter().all(|cell| cell.config.is_empty()) {
            let mut config = server.settings.clone();
            config.extend(database.into_iter().flat_map(|db| db.settings.clone()));
            if arm.site.is_none() {
                let of_php = apps::settings(arm.runtime.form(), &launch.app, &server.base);
                config.extend(of_php.iter().map(|(name, value)| setting(name, value)));
            }
            one.cells
                .iter_mut()
                .for_each(|cell| cell.config.clone_from(&config));
        }
        Ok(server)
    }

    /// The app and everything else that the arm's server is started with.
    fn launch(&self, arm: &Arm, database: Option<&Database>) -> Result<Launch> {
        let column = match arm.column {
            report::Column::AsSeed => "as-seed",
            report::Column::Fair => "fair",
        };
        let name = format!("{}-{column}", arm.runtime.id());
        let app = self.app(arm, &name, database)?;
        let environment = self.environment(arm, &app, database)?;
        let tls = arm.tls.then(|| certificate(self.place)).transpose()?;
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

    /// The folder of the app: the user's own site, or the scenario's written out.
    fn app(&self, arm: &Arm, name: &str, database: Option<&Database>) -> Result<PathBuf> {
        if let Some(site) = &arm.site {
            return Ok(site.clone());
        }
        let content = apps::Content {
            database: database.map(Database::login),
            ..arm.content.clone()
        };
        let folder = format!("app-{name}");
        apps::write(&content, arm.runtime.form(), &folder, self.place)
    }

    fn environment(
        &self,
        arm: &Arm,
        app: &Path,
        database: Option<&Database>,
    ) -> Result<Vec<(String, String)>> {
        let Some(database) = database else {
            return Ok(Vec::new());
        };
        let go = database
            .go_dsn
            .iter()
            .map(|dsn| ("BENCH_GO_DSN", dsn.clone()));
        let mut all: Vec<(String, String)> =
            go.map(|(name, value)| (name.to_owned(), value)).collect();
        if !arm.pool.is_empty() {
            let experiment = pool_experiment(self.tools, app, &arm.pool, database)?;
            all.push(("POOL_EXPERIMENT".to_owned(), experiment));
        }
        Ok(all)
    }
}

/// The parameters of the pool's experiment as its app takes them, completed and checked by its own PHP code.
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
    // What is given comes later and holds.
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
