//! A name server that answers late, for the rows of look-ups.

use std::net::UdpSocket;
use std::time::Duration;

use super::WAIT;

pub(super) const ADDRESS: &str = "127.0.0.77";

/// A name server that answers each question for an address with 127.0.0.9, and for the name of one with late.example.test,
/// late. It lives as long as the tests.
pub(super) fn start() {
    static STARTED: std::sync::Once = std::sync::Once::new();
    STARTED.call_once(|| {
        let socket = UdpSocket::bind((ADDRESS, 53)).expect("root may bind port 53");
        std::thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                let answer = answer(&question[..length]);
                let socket = socket.try_clone().expect("a descriptor");
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_secs_f64(WAIT));
                    let _ = socket.send_to(&answer, from);
                });
            }
        });
    });
}

/// The question itself, as an answer: an A or a PTR record if one was asked for, none otherwise.
fn answer(question: &[u8]) -> Vec<u8> {
    let name_end = 12
        + question[12..]
            .iter()
            .position(|byte| *byte == 0)
            .expect("a name ends");
    let end = name_end + 5;
    let data: &[u8] = match question[name_end + 1..name_end + 3] {
        [0, 1] => &[127, 0, 0, 9],
        [0, 12] => b"\x04late\x07example\x04test\0",
        _ => &[],
    };
    let mut answer = question[..end].to_vec();
    answer[2] = 0x81;
    answer[3] = 0x80;
    answer[6..12].copy_from_slice(&[0, u8::from(!data.is_empty()), 0, 0, 0, 0]);
    if !data.is_empty() {
        // The name, kind and class of the question, and no time to live.
        answer.extend([0xc0, 12]);
        answer.extend_from_slice(&question[name_end + 1..end]);
        answer.extend([0, 0, 0, 0, 0]);
        answer.push(u8::try_from(data.len()).expect("a short name"));
        answer.extend_from_slice(data);
    }
    answer
}
