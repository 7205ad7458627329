//! Users and groups of this machine by name.

use nix::unistd::{Group, User};

use crate::error::Error;

/// Returns the user id of a name or a number.
pub(crate) fn user_id(name: &str) -> Result<u32, Error> {
    let known = || User::from_name(name).ok().flatten();
    let id = name.parse().ok().or_else(|| Some(known()?.uid.as_raw()));
    found(id, name, false)
}

/// Returns the group id of a name or a number.
pub(crate) fn group_id(name: &str) -> Result<u32, Error> {
    let known = || Group::from_name(name).ok().flatten();
    let id = name.parse().ok().or_else(|| Some(known()?.gid.as_raw()));
    found(id, name, true)
}

fn found(id: Option<u32>, name: &str, is_group: bool) -> Result<u32, Error> {
    id.ok_or_else(|| Error::NoSuchName {
        is_group,
        name: name.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for name in ["root", "0"] {
            let ids = (user_id(name), group_id(name));
            assert!(matches!(ids, (Ok(0), Ok(0))), "{name}: {ids:?}");
        }
        let message = |error: Error| error.to_string();
        assert_eq!(
            user_id("no-such-user").map_err(message),
            Err("socket.owner: there is no user \"no-such-user\" on this machine".into())
        );
        assert!(group_id("-1").is_err());
    }
}
