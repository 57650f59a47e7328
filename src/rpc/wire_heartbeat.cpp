#include "wire.hpp"

namespace gym::rpc::wire {

void write(const Beat& beat, v1::HeartbeatRequest& out) {
    const Activity& activity = beat.activity;
    if (activity.unit) write(*activity.unit, *out.mutable_unit());
    out.set_step(activity.step);
    out.set_steps(activity.steps);
    out.set_phase(activity.phase);
    if (!beat.answer) return;
    out.mutable_answer()->set_nonce(text_of(beat.answer->nonce));
    out.mutable_answer()->set_signature(text_of(beat.answer->signature));
}

Result<Beat> read(const v1::HeartbeatRequest& in) {
    Beat out;
    if (in.has_unit()) {
        GYM_TRY(out.activity.unit, read(in.unit()));
    }
    out.activity.step = in.step();
    out.activity.steps = in.steps();
    GYM_TRY(out.activity.phase, read_text("phase", in.phase()));
    if (in.has_answer()) {
        protocol::UptimeAnswer& answer = out.answer.emplace();
        GYM_TRY(answer.nonce, read<Digest>("answer.nonce", in.answer().nonce()));
        GYM_TRY(answer.signature,
                read<crypto::Signature>("answer.signature", in.answer().signature()));
    }
    return out;
}

void write(const HeartbeatAnswer& answer, v1::HeartbeatResponse& out) {
    out.set_server_unix_ms(answer.server_ms);
    out.set_excluded_because(answer.excluded_because);
    out.set_answer_refused(answer.answer_refused);
    if (!answer.challenge) return;
    v1::UptimeChallenge& challenge = *out.mutable_challenge();
    challenge.set_nonce(text_of(answer.challenge->nonce));
    challenge.set_issued_unix_ms(answer.challenge->issued_ms);
    challenge.set_deadline_unix_ms(answer.challenge->deadline_ms);
}

Result<HeartbeatAnswer> read(const v1::HeartbeatResponse& in) {
    HeartbeatAnswer out;
    out.server_ms = in.server_unix_ms();
    GYM_TRY(out.excluded_because, read_text("excluded_because", in.excluded_because()));
    GYM_TRY(out.answer_refused, read_text("answer_refused", in.answer_refused()));
    if (in.has_challenge()) {
        protocol::UptimeChallenge& challenge = out.challenge.emplace();
        GYM_TRY(challenge.nonce, read<Digest>("challenge.nonce", in.challenge().nonce()));
        challenge.issued_ms = in.challenge().issued_unix_ms();
        challenge.deadline_ms = in.challenge().deadline_unix_ms();
    }
    return out;
}

}  // namespace gym::rpc::wire
