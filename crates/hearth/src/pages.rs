//! Manual pages and completions, which a package installs, made from the same table as `--help`.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use clap_complete::Shell;

use crate::client::print;
use crate::{arguments, fail};

/// `hearth completions SHELL`.
pub(crate) fn completions(matches: &ArgMatches) -> ExitCode {
    let Some(shell) = matches.get_one::<Shell>("shell") else {
        return fail(2, "which shell?");
    };
    let mut text = Vec::new();
    clap_complete::generate(*shell, &mut arguments::command(), "hearth", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// `hearth man DIRECTORY`: a page for the program and one for each command.
pub(crate) fn man(matches: &ArgMatches) -> ExitCode {
    let directory = matches.get_one::<String>("directory").map(Path::new);
    // The command has a version flag of its own.
    let mut all = arguments::command()
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true);
    all.build();
    let pages = std::iter::once(&all).chain(all.get_subcommands());
    let pages = pages.filter(|page| !page.is_hide_set());
    let written = pages.map(|page| write(page, directory.unwrap_or(Path::new("."))));
    match written.collect::<io::Result<()>>() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => fail(1, format_args!("cannot write the pages: {e}")),
    }
}

/// Writes a page such as `hearth.1` or `hearth-serve.1`.
fn write(page: &Command, directory: &Path) -> io::Result<()> {
    let name = page
        .get_display_name()
        .unwrap_or(page.get_name())
        .to_owned();
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone())
        .title(name.to_uppercase())
        .render(&mut text)?;
    std::fs::write(directory.join(format!("{name}.1")), text)
}
