// Registration of models: weights under a name, from their owner's uploads or from a job.
#include <utility>

#include "gym/blob/verified_blob.hpp"
#include "gym/program/codec.hpp"
#include "gym/registry/dataset_tokenizers.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/model_names.hpp"
#include "gym/registry/retention.hpp"
#include "gym/tokenizer/bundle.hpp"
#include "postgres_calls.hpp"

namespace gym::api {

namespace calls {

Status take_over(blob::BlobStore& blobs, const std::optional<UploadFiles>& files,
                 const Address& owner, const Digest& blob) {
    Error gone = fail(ErrorCode::kNotFound, "this gym-api takes no uploads");
    if (files) {
        const auto file = files->open(owner, blob);
        if (file.ok()) return blobs.adopt(blob, **file);
        gone = file.error();
    }
    if (gone.code != ErrorCode::kNotFound) return gone;
    GYM_TRY(const bool there, blobs.hold(blob));  // of an earlier job, and the upload has expired
    return there ? Status() : Status(gone);
}

Status keep_weights(db::Transaction& tx, blob::BlobStore& blobs, const Digest& blob) {
    GYM_TRY(const bool held, blobs.hold(blob));
    if (held) return {};
    GYM_TRY(const auto why, registry::why_pruned(tx, blob));
    return why ? Status(fail(ErrorCode::kNotFound, *why)) : Status();
}

}  // namespace calls

namespace {

using registry::ModelVersion;

/// A complete upload of the offer's owner.
struct OwnUpload {
    Digest blob;
    std::uint64_t bytes = 0;
    Bytes layout;  ///< of a state
};

Result<OwnUpload> find_upload(db::Transaction& tx, const Address& owner, std::string_view column,
                              const Digest& root, const char* what) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT root, size_bytes, state_layout FROM api.upload WHERE owner = "
                             "$1 AND completed_at_ms IS NOT NULL AND " +
                                 std::string(column) + " = $2 ORDER BY root LIMIT 1",
                             {owner, root}));
    if (!row)
        return fail(ErrorCode::kNotFound, std::string("'") + what + "': you have uploaded no " +
                                              (column == "root" ? "blob" : "state") +
                                              " with the root " + root.hex() +
                                              "; `gym model push` uploads it, or PUT "
                                              "/v1/blobs/{root}");
    return OwnUpload{row->get<Digest>("root"), row->get<std::uint64_t>("size_bytes"),
                     row->get<std::optional<Bytes>>("state_layout").value_or(Bytes())};
}

/// Neither too much nor too little, and a licence that fits the visibility.
Result<ModelVersion> check_offer(const ModelOffer& offer) {
    const bool uploads = offer.state && offer.program;
    if (uploads == offer.job.has_value() || (offer.job && (offer.state || offer.program)))
        return fail(ErrorCode::kInvalidArgument,
                    "a model is either 'state' and 'program', which were uploaded, or 'job'");
    ModelVersion out;
    GYM_TRY(out.licence, licence::canonical(offer.licence));
    if (offer.access) GYM_CHECK(registry::check_visibility(out.licence, offer.access->visibility));
    out.access =
        offer.access.value_or(registry::Access{registry::default_visibility(out.licence), {}});
    out.owner = offer.owner;
    return out;
}

/// A blob that is small enough for memory, as the owner uploaded it; else as the store has it.
Result<Bytes> small_blob(const blob::BlobStore& blobs, const std::optional<UploadFiles>& files,
                         const Address& owner, const Digest& blob, std::uint64_t bytes_max) {
    if (files) {
        const auto file = files->open(owner, blob);
        if (file.ok() && (*file)->size() <= bytes_max) {
            Bytes bytes((*file)->size());
            GYM_CHECK((*file)->read(0, bytes));
            if (blob::blob_root(bytes) == blob) return bytes;
        }
    }
    return blobs.get(blob);
}

/// Program and tokenizer files are what they should be.
Status check_contents(const blob::BlobStore& blobs, const std::optional<UploadFiles>& uploads,
                      ModelVersion& model) {
    GYM_TRY(const Bytes bytes,
            small_blob(blobs, uploads, model.owner, model.program.blob, program::kProgramBytesMax));
    auto program = program::decode(bytes);
    if (!program.ok()) return program.error().in("'program'");
    model.program.root = program::program_root(*program);
    GYM_TRY(const auto given, engine::decode_layout(model.state_layout));
    const Status fits = engine::check_layout(engine::parameter_layout(*program), given);
    if (!fits.ok()) return fits.error().in("'state'");
    if (!model.tokenizer_blob) return {};
    GYM_TRY(const Bytes files, small_blob(blobs, uploads, model.owner, *model.tokenizer_blob,
                                          tokenizer::kBundleBytesMax));
    const auto bundle = tokenizer::read_bundle(files);
    if (!bundle.ok()) return bundle.error().in("'tokenizer'");
    model.tokenizer = bundle->root;
    return {};
}

Status fill_from_uploads(db::Transaction& tx, const ModelOffer& offer, ModelVersion& model) {
    GYM_TRY(OwnUpload state, find_upload(tx, offer.owner, "state_root", *offer.state, "state"));
    GYM_TRY(const OwnUpload program,
            find_upload(tx, offer.owner, "root", *offer.program, "program"));
    if (program.bytes > program::kProgramBytesMax)
        return fail(ErrorCode::kOutOfRange, "'program' is larger than a program can be");
    model.state = {*offer.state, state.blob, state.bytes};
    model.state_layout = std::move(state.layout);
    model.program = {{}, program.blob, program.bytes};
    if (!offer.tokenizer) return {};
    GYM_TRY(const OwnUpload files,
            find_upload(tx, offer.owner, "root", *offer.tokenizer, "tokenizer"));
    if (files.bytes > tokenizer::kBundleBytesMax)
        return fail(ErrorCode::kOutOfRange, "'tokenizer' is larger than a tokenizer can be");
    model.tokenizer_blob = files.blob;
    return {};
}

/// @errors kNotFound; kPermissionDenied for another owner's job; kConflict before it has a model.
Status fill_from_job(db::Transaction& tx, const ModelOffer& offer, ModelVersion& model) {
    GYM_TRY(const registry::Job job,
            registry::get_job_of_model(tx, *offer.job, registry::Viewer::account(offer.owner)));
    if (job.owner != offer.owner)
        return fail(ErrorCode::kPermissionDenied, "job " + job.id.hex() + " belongs to " +
                                                      job.owner.hex() +
                                                      ": its weights are registered by its owner");
    if (!job.artifacts)
        return fail(ErrorCode::kConflict, "job " + job.id.hex() + " has no model yet");
    GYM_TRY(const auto trained, calls::trained_state(tx, job, offer.round));
    model.state = {trained.state.root, trained.state.blob};
    model.job = job.id;
    model.round = trained.round;
    model.program = {job.artifacts->program_root, job.artifacts->program_blob};
    GYM_TRY(const auto layout, calls::parameters_of(job));
    model.state_layout = engine::encode_layout(layout);
    GYM_TRY(const auto data, registry::get_dataset(tx, job.dataset_root));
    model.tokenizer = data.tokenizer;
    GYM_TRY(const auto files, registry::find_dataset_tokenizer(tx, job.dataset_root));
    if (files) model.tokenizer_blob = files->blob;
    return {};
}

}  // namespace

Result<registry::NamedModel> PostgresBackend::name_model(const ModelOffer& offer) {
    GYM_TRY(ModelVersion model, check_offer(offer));
    model.registered_at_ms = clock_.now_ms();
    const auto fill = [&](db::Transaction& tx) -> Status {
        GYM_CHECK(offer.job ? fill_from_job(tx, offer, model)
                            : fill_from_uploads(tx, offer, model));
        return calls::check_model_licence(tx, model);
    };
    const auto store = [&](db::Transaction& tx) {
        return registry::name_model(tx, offer.reference, model, options_.model_quota);
    };
    GYM_CHECK(calls::read(database_, options_, fill));
    if (offer.job) {
        // Before the row that promises it: until then the round that it is of may be pruned.
        GYM_CHECK(blobs_.hold(model.state.blob));
        GYM_TRY(const auto state, open_blob(model.state.blob));
        GYM_TRY(const auto program, open_blob(model.program.blob));
        model.state.bytes = state->size();
        model.program.bytes = program->size();
    } else {
        // The bytes before the row that promises them.
        const auto& files = options_.uploads;
        GYM_CHECK(check_contents(blobs_, files, model));
        GYM_CHECK(calls::rehearse(database_, options_, store));
        GYM_CHECK(calls::take_over(blobs_, files, offer.owner, model.state.blob));
        GYM_CHECK(calls::take_over(blobs_, files, offer.owner, model.program.blob));
        if (model.tokenizer_blob)
            GYM_CHECK(calls::take_over(blobs_, files, offer.owner, *model.tokenizer_blob));
    }
    return calls::write(database_, options_, store);
}

Result<ModelVersion> PostgresBackend::model_version(const registry::ModelReference& reference,
                                                    const registry::Viewer& viewer) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::get_model_version(tx, reference, viewer);
    });
}

Result<std::vector<ModelVersion>> PostgresBackend::model_versions(const std::string& name,
                                                                  const registry::Viewer& viewer) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::model_versions(tx, name, viewer);
    });
}

Result<std::vector<ModelVersion>> PostgresBackend::models(const registry::ModelFilter& filter) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) { return registry::list_models(tx, filter); });
}

Result<ModelVersion> PostgresBackend::set_model_access(const Address& owner,
                                                       const registry::ModelReference& reference,
                                                       const registry::Access& access) {
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<ModelVersion> {
        GYM_CHECK(registry::set_model_access(tx, reference, owner, access));
        return registry::get_model_version(tx, reference, registry::Viewer::account(owner));
    });
}

}  // namespace gym::api
