//! What the command line gives the agents of a run beyond what its roles say: variables, commands, a permission, a model.

use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::Permission;
use baton_runtime::core::workflow::file::{is_command_pattern, is_variable_name};
use baton_runtime::{HostConfig, RoleOverrides};
use clap::{Args, ValueEnum};

/// What every command that starts agents may give them.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RoleGrantArgs {
    /// Pass this variable of your environment to the agents; may be given several times
    #[arg(long, value_name = "NAME", value_parser = variable)]
    env: Vec<String>,
    /// Let the agents run this command without asking, in addition to what they may run already: 'make test',
    /// 'npm run *' (`*` stands for words of their own); may be given several times
    #[arg(long, value_name = "COMMAND", value_parser = command_pattern)]
    allow: Vec<String>,
    /// What the agents may do without asking [default: the file's, else edit]
    #[arg(long, value_enum, value_name = "LEVEL")]
    permission: Option<PermissionLevel>,
    /// Model of the agents, as they name it [default: the file's, else their own]
    #[arg(long, value_name = "NAME", value_parser = model)]
    model: Option<String>,
}

/// `--permission`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PermissionLevel {
    /// Read the workspace
    ReadOnly,
    /// Read and edit files of the workspace
    Edit,
    /// Whatever the agent's own sandbox allows, commands included
    Full,
}

impl From<PermissionLevel> for Permission {
    fn from(level: PermissionLevel) -> Self {
        match level {
            PermissionLevel::ReadOnly => Permission::ReadOnly,
            PermissionLevel::Edit => Permission::Edit,
            PermissionLevel::Full => Permission::Full,
        }
    }
}

fn variable(text: &str) -> Result<String, String> {
    match is_variable_name(text) {
        true => Ok(text.to_owned()),
        false => Err("give only the name of a variable, without its value: --env MY_TOKEN".to_owned()),
    }
}

fn model(text: &str) -> Result<String, String> {
    match text.trim().is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
        true => Err("give the name of a model: --model opus".to_owned()),
        false => Ok(text.to_owned()),
    }
}

fn command_pattern(text: &str) -> Result<String, String> {
    match is_command_pattern(text) {
        true => Ok(text.to_owned()),
        false => Err("start with the name of a program, on one line: --allow 'make test'".to_owned()),
    }
}

impl RoleGrantArgs {
    /// Whether nothing is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.overrides() == RoleOverrides::default()
    }

    /// Gives it to the agents that this host starts. A run that is resumed keeps what it began with.
    pub(crate) fn give(&self, config: &mut HostConfig) {
        config.overrides = self.overrides();
    }

    /// Gives it to every role of a new run.
    pub(crate) fn apply_to_roles(&self, workflow: &mut Workflow) {
        let overrides = self.overrides();
        workflow.roles.values_mut().for_each(|role| overrides.apply(role));
    }

    fn overrides(&self) -> RoleOverrides {
        RoleOverrides {
            env: self.env.clone(),
            allow: self.allow.clone(),
            permission: self.permission.map(Permission::from),
            model: self.model.clone(),
        }
    }

    /// The flags and their values, as they were typed.
    pub(crate) fn words(&self) -> Vec<String> {
        let flags = |flag: &'static str, values: &[String]| -> Vec<String> {
            values.iter().flat_map(|value| [flag.to_owned(), value.clone()]).collect()
        };
        let mut words = flags("--env", &self.env);
        words.extend(flags("--allow", &self.allow));
        words.extend(
            self.permission
                .and_then(|level| level.to_possible_value())
                .into_iter()
                .flat_map(|value| ["--permission".to_owned(), value.get_name().to_owned()]),
        );
        words.extend(self.model.iter().flat_map(|name| ["--model".to_owned(), name.clone()]));
        words
    }

    /// The flags that give a role of this run something that it began without.
    pub(crate) fn beyond(&self, run: &Workflow) -> Vec<&'static str> {
        let lacks = |known: fn(&baton_runtime::core::workflow::Role) -> &Vec<String>, wanted: &[String]| {
            run.roles.values().any(|role| wanted.iter().any(|one| !known(role).contains(one)))
        };
        let level = self.permission.map(Permission::from);
        let is_other = level.is_some_and(|level| run.roles.values().any(|role| role.permission != level));
        let model = self.model.as_ref();
        let is_other_model = model.is_some() && run.roles.values().any(|role| role.model.as_ref() != model);
        [
            ("--env", lacks(|role| &role.env, &self.env)),
            ("--allow", lacks(|role| &role.allow, &self.allow)),
            ("--permission", is_other),
            ("--model", is_other_model),
        ]
        .into_iter()
        .filter_map(|(flag, differs)| differs.then_some(flag))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct GrantTestCli {
        #[command(flatten)]
        given: RoleGrantArgs,
    }

    #[test]
    fn flags_are_held_to_what_a_role_would_be_and_said_again_as_typed() {
        let typed = [
            "x",
            "--env",
            "MY_TOKEN",
            "--allow",
            "npm run *",
            "--permission",
            "read-only",
            "--model",
            "opus",
        ];
        assert_eq!(GrantTestCli::try_parse_from(typed).unwrap().given.words(), typed[1..]);
        for wrong in [
            ["x", "--env", "A=1"],
            ["x", "--allow", "$(x)"],
            ["x", "--permission", "write"],
            ["x", "--model", ""],
        ] {
            assert!(GrantTestCli::try_parse_from(wrong).is_err(), "{wrong:?}");
        }
    }
}
