//! A handler as a tree, so that it can be generated at random, written as PHP and made smaller.

use crate::kinds::{BUFFER, FATAL, KINDS};
use crate::random::Random;

/// A piece of a handler, with the pieces in its blocks.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    kind: usize,
    numbers: Vec<u64>,
    blocks: Vec<Vec<Piece>>,
}

/// The pieces that may be chosen.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// Whether pieces with fatal errors may be chosen.
    pub(crate) fatal: bool,
    /// Only pieces with one of these in their names, and those that end a branch; empty: all.
    pub(crate) only: Vec<String>,
}

const MOST_NESTED: usize = 4;
const MOST_PIECES: usize = 36;

struct Maker<'a> {
    random: &'a mut Random,
    choice: &'a Choice,
    left: usize,
}

fn blocks_of(text: &str) -> usize {
    (0..9)
        .take_while(|n| text.contains(&format!("§{n}")))
        .count()
}

impl Maker<'_> {
    fn weight(&self, kind: usize, depth: usize, in_callback: bool) -> u64 {
        let kind = &KINDS[kind];
        let is_leaf = blocks_of(kind.text) == 0;
        let is_refused = (kind.name.starts_with(FATAL) && !self.choice.fatal)
            || (in_callback && kind.name.starts_with(BUFFER))
            || (!is_leaf && (depth >= MOST_NESTED || self.left == 0));
        let only = &self.choice.only;
        let is_wanted = only.is_empty()
            || matches!(kind.name, "sleep" | "ask" | "say")
            || only.iter().any(|part| kind.name.contains(part.as_str()));
        if is_refused || !is_wanted {
            0
        } else {
            kind.weight
        }
    }

    fn piece(&mut self, depth: usize, in_callback: bool) -> Piece {
        let weights: Vec<u64> = (0..KINDS.len())
            .map(|kind| self.weight(kind, depth, in_callback))
            .collect();
        let mut at = self.random.below(weights.iter().sum());
        let kind = weights
            .iter()
            .position(|weight| {
                let found = at < *weight;
                at = at.saturating_sub(*weight);
                found
            })
            .expect("below the sum");
        self.left = self.left.saturating_sub(1);
        let in_callback = in_callback
            || matches!(
                KINDS[kind].name,
                "buffer-callback" | "buffer-chunks" | "buffer-left"
            );
        let blocks = (0..blocks_of(KINDS[kind].text))
            .map(|_| self.block(depth + 1, in_callback))
            .collect();
        Piece {
            kind,
            numbers: (0..6).map(|_| self.random.next()).collect(),
            blocks,
        }
    }

    fn block(&mut self, depth: usize, in_callback: bool) -> Vec<Piece> {
        let count = if depth == 0 {
            2 + self.random.below(3)
        } else {
            self.random.below(3)
        };
        (0..count).map(|_| self.piece(depth, in_callback)).collect()
    }
}

/// Returns the pieces of a random handler.
pub(crate) fn random(random: &mut Random, choice: &Choice) -> Vec<Piece> {
    Maker {
        random,
        choice,
        left: MOST_PIECES,
    }
    .block(0, false)
}

impl Piece {
    fn write(&self, to: &mut String, variables: &mut u64) {
        *variables += 1;
        let own = *variables;
        let mut numbers = self.numbers.iter().cycle();
        let shared = self.numbers[0] % 4;
        let mut parts = KINDS[self.kind].text.split('§');
        to.push_str(parts.next().expect("at least one part"));
        for part in parts {
            let mut letters = part.chars();
            let mark = letters.next().expect("a mark");
            let mut number = || *numbers.next().expect("it goes round");
            match mark {
                '0'..='9' => self.write_block(mark as usize - '0' as usize, to, variables),
                'v' => to.push_str(&format!("$v{own}")),
                'w' => to.push_str(&format!("W{own}")),
                'x' => to.push_str(&format!("$x{own}")),
                'u' => to.push_str(&(number() % 3000).to_string()),
                's' => to.push_str(&format!("0.{:04}", 1 + number() % 200)),
                'n' => to.push_str(&(number() % 12).to_string()),
                'i' => to.push_str(&shared.to_string()),
                _ => panic!("no mark called {mark}"),
            }
            to.push_str(letters.as_str());
        }
        to.push('\n');
    }

    fn write_block(&self, block: usize, to: &mut String, variables: &mut u64) {
        to.push('\n');
        for piece in &self.blocks[block] {
            piece.write(to, variables);
        }
    }
}

/// Writes the handler as PHP statements.
pub(crate) fn php(pieces: &[Piece]) -> String {
    let (mut text, mut variables) = (String::new(), 0);
    for piece in pieces {
        piece.write(&mut text, &mut variables);
    }
    text
}

/// Returns every handler with one piece less, or with one piece replaced by the pieces in one of its blocks.
pub(crate) fn smaller(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    let mut all = Vec::new();
    for at in 0..pieces.len() {
        let without = |with: Vec<Piece>| {
            let mut copy = pieces.to_vec();
            copy.splice(at..=at, with);
            copy
        };
        all.push(without(Vec::new()));
        for (n, block) in pieces[at].blocks.iter().enumerate() {
            if !block.is_empty() {
                all.push(without(block.clone()));
            }
            for less in smaller(block) {
                let mut piece = pieces[at].clone();
                piece.blocks[n] = less;
                all.push(without(vec![piece]));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_handler_each_time_and_all_marks_are_filled_in() {
        let choice = Choice {
            fatal: true,
            only: Vec::new(),
        };
        for seed in 0..200 {
            let [first, second] = [(); 2].map(|()| random(&mut Random::new(seed, 0), &choice));
            assert_eq!(php(&first), php(&second));
            assert!(!php(&first).contains('§'));
        }
    }

    #[test]
    fn each_smaller_handler_has_fewer_pieces() {
        fn count(pieces: &[Piece]) -> usize {
            pieces
                .iter()
                .map(|piece| 1 + piece.blocks.iter().map(|block| count(block)).sum::<usize>())
                .sum()
        }
        let choice = Choice {
            fatal: true,
            only: Vec::new(),
        };
        let handler = random(&mut Random::new(7, 0), &choice);
        assert!(
            smaller(&handler)
                .iter()
                .all(|less| count(less) < count(&handler))
        );
        assert!(smaller(&handler).len() >= count(&handler));
    }
}
