//! The write-ups' claims beside this machine's figures, and the advice for the user's own app.

use crate::advice::{Gain, Worth, gains};
use crate::cell::Metric;
use crate::claims::{Answer, Line, lines};
use crate::seeds::{WRITE_UPS, title};
use crate::words::{both_ways, interval, verdict};
use crate::{Advice, Run};
use maud::{Markup, html};

/// Renders one table per write-up.
pub(super) fn section(run: &Run) -> Markup {
    let lines = lines(run);
    html! {
        section #claims {
            h2 { "What the write-ups claim, and what this machine says" }
            p.lead { (count(&lines)) }
            @for (file, _) in WRITE_UPS {
                h3 { (title(file)) }
                div.claims {
                    @for line in lines.iter().filter(|line| line.claim.seed == file) { (claim(line)) }
                }
            }
        }
    }
}

fn count(lines: &[Line]) -> String {
    let of = |answer: Answer| lines.iter().filter(|line| line.answer == answer).count();
    format!(
        "{} claims: {} agree, {} differ, {} not decided by these repeats, {} not measured in this run.",
        lines.len(),
        of(Answer::Agrees),
        of(Answer::Differs),
        of(Answer::NotShown),
        of(Answer::NotMeasured)
    )
}

fn claim(line: &Line) -> Markup {
    let class = match line.answer {
        Answer::Agrees => "good",
        Answer::Differs => "bad",
        Answer::NotShown => "open",
        Answer::NotMeasured => "absent",
    };
    html! {
        article.claim {
            div.said { p { (line.claim.said) } p.saw { (line.claim.saw) } }
            div.here {
                span class={ "badge " (class) } { (line.answer.words()) }
                p { (line.here) }
                @if !line.why.is_empty() { p.why { (line.why) } }
            }
        }
    }
}

/// Renders the advice for the user's own app, each piece with its measured gain.
pub(super) fn advice(run: &Run) -> Markup {
    if run.advice.is_empty() {
        return html! {};
    }
    html! {
        section #advice {
            h2 { "What would help your app" }
            div.claims {
                @for (advice, gain) in gains(run) { (one_advice(run, advice, gain)) }
            }
        }
    }
}

fn one_advice(run: &Run, advice: &Advice, gain: Option<Gain>) -> Markup {
    let floor = run.noise.aa_floor.unwrap_or(0.0);
    let class = match Worth::of(gain.as_ref(), floor) {
        Worth::Helps => "good",
        Worth::Costs => "bad",
        Worth::NotShown | Worth::NotMeasured => "open",
    };
    html! {
        article.claim {
            div.said { p { (advice.title) } @if !advice.change.is_empty() { pre { (advice.change) } } }
            div.here {
                @if let Some(gain) = gain {
                    span class={ "badge " (class) } { (verdict(&gain.ratio, floor)) }
                    p { (interval(&Metric::Goodput, &gain.base)) " → " (interval(&Metric::Goodput, &gain.with)) }
                    p.why { (both_ways(gain.ratio.value)) @if let Some(cpu) = gain.cpu { "; server CPU per request " (verdict(&cpu, floor)) } @if let Some(memory) = gain.memory { "; memory " (verdict(&memory, floor)) } }
                } @else {
                    span.badge.absent { "not measured" }
                }
            }
        }
    }
}
