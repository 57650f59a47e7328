#include <boost/json/array.hpp>

#include "openapi_fields.hpp"

namespace gym::api {

namespace json = boost::json;

void dataset_schemas(json::object& out) {
    out["Dataset"] =
        schema({{"root", "hash"},
                {"blob", "hash"},
                {"owner", "address"},
                {"name", "text", "a label"},
                {"names", "text[]", "NAME@VERSION that stand for it, newest first, at most 16"},
                {"licence", "text", "an SPDX license expression"},
                {"visibility", "text", "public, allow-list or private"},
                {"allowed", "address[]", "who may see it; told to the owner alone"},
                {"tokens", "count"},
                {"vocabulary", "count"},
                {"tokenizer", "hash?", "that the token file names; null: none"},
                {"manifest", "hash?", "root of its manifest; null: its owner gave none"},
                {"price_wei_per_mtoken", "wei", "per million tokens, times quality"},
                {"novelty_ppm", "count", "of its tokens, not registered before"},
                {"usefulness_ppm", "count", "measured, or the network's default"},
                {"quality_ppm", "count", "novelty * usefulness / 10^6; of a mix, its parts' mean"},
                {"nearest", "NearestDataset?",
                 "the earlier dataset that most of it is like; null also where the caller may not "
                 "see that"},
                {"measurement", "Measurement?", "null: usefulness is the network's default"},
                {"parts", "DatasetPart[]", "of a mix, whose price is theirs; else empty"},
                {"number", "count", "in the order of registration, from 1"},
                {"registered_at_ms", "time"}});
    out["DatasetPart"] =
        schema({{"root", "hash"},
                {"tokens", "count", "of the mix that are its own"},
                {"weight_ppm", "count", "as it was asked for: a share of the sum of all"},
                {"owner", "address"},
                {"name", "text"},
                {"licence", "text"},
                {"price_wei_per_mtoken", "wei"},
                {"quality_ppm", "count"}});
    out["MixRequest"] =
        schema({{"parts", "MixPart[]", "2 to 64, in the mix's order"},
                {"tokens", "count~", "of the mix; absent or 0: as many as the shares allow"},
                {"best_effort", "flag~", "accept shares that differ by over a percentage point"}});
    out["MixPart"] = schema({{"dataset", "text", "a root, NAME or NAME@VERSION"},
                             {"weight", "real", "0.000001 to 100: a share of the sum of all"}});
    out["Mix"] = schema(
        {{"state", "text", "waiting, mixing or made"}, {"dataset", "Dataset?", "once it is made"}});
    out["NearestDataset"] = schema(
        {{"root", "hash"}, {"ppm", "count", "of the sampled tokens that are like some of it"}});
    out["DatasetManifest"] =
        schema({{"dataset", "hash"},
                {"root", "hash", "of the manifest (docs/DATA.md, \"The manifest\")"},
                {"blob", "hash", "of its file"},
                {"bytes", "count"},
                {"added_at_ms", "time"}});
    out["DatasetTokenizer"] =
        schema({{"dataset", "hash"},
                {"blob", "hash", "of the files (docs/TOKENIZERS.md, \"Files\")"},
                {"bytes", "count"},
                {"added_at_ms", "time"}});
    out["DatasetVersion"] = schema({{"name", "text"},
                                    {"version", "count", "of the name, from 1"},
                                    {"root", "hash", "of the dataset, for good"},
                                    {"owner", "address", "of the name"},
                                    {"registered_at_ms", "time"}});
    out["DatasetVersionList"] = schema({{"versions", "DatasetVersion[]"}});
    out["DatasetList"] = schema({{"datasets", "Dataset[]"}});
    out["Measurement"] =
        schema({{"evaluation", "hash", "the evaluation that measured it"},
                {"state_root", "hash", "of the training state after the steps on the dataset"},
                {"before_bits", "bits", "loss of the base state"},
                {"after_bits", "bits", "loss after the steps on the dataset"},
                {"baseline_bits", "bits", "loss after as many steps on the reference"},
                {"measured_at_ms", "time"}});
    out["Evaluation"] =
        schema({{"id", "hash", "of the terms, program_root to held_out"},
                {"number", "count", "in the order of publication, from 1"},
                {"program_root", "hash", "of the train program"},
                {"seed", "hash"},
                {"vocabulary", "count", "of all datasets that it measures"},
                {"base_steps", "count", "on the reference, that make the base state"},
                {"steps", "count", "of training on what is measured"},
                {"windows", "count", "of the held-out text"},
                {"reference_root", "hash", "a registered dataset"},
                {"held_out", "hash", "commitment to the held-out tokens"},
                {"model", "text", "the model file, YAML"},
                {"base_state_root", "hash"},
                {"before_bits", "bits", "loss of the base state"},
                {"baseline_state_root", "hash", "after the steps on the reference"},
                {"baseline_bits", "bits", "loss then"},
                {"datasets_before", "count", "it measures datasets of higher numbers"},
                {"published_at_ms", "time"},
                {"retired", "Retirement?", "null: in force"}});
    out["Retirement"] =
        schema({{"salt", "hash", "opens held_out, with the root"},
                {"held_out_root", "hash", "of the held-out tokens"},
                {"datasets_until", "count", "number of the last dataset that it measures"},
                {"retired_at_ms", "time"}});
    out["EvaluationList"] = schema({{"evaluations", "Evaluation[]"}});
}

void model_schemas(json::object& out) {
    out["ModelBlob"] = schema({{"root", "hash", "as round records and chain name it"},
                               {"blob", "hash", "root of the bytes themselves"},
                               {"bytes", "count"}});
    out["ModelData"] = schema({{"root", "hash"},
                               {"name", "text"},
                               {"licence", "text"},
                               {"vocabulary", "count"},
                               {"tokenizer", "hash?", "that the dataset names; null: none"},
                               {"tokenizer_owner", "address?",
                                "who wrote the tokenizer's files; null: nobody, or not known"}});
    out["ModelLoss"] = schema({{"round", "count"}, {"validation_loss", "real", "nats per token"}});
    out["Model"] = schema({{"job_id", "hash"},
                           {"owner", "address", "of the job"},
                           {"name", "text", "of the job"},
                           {"round", "count", "after which the weights are; 0: before any"},
                           {"newest_round", "count", "that has weights"},
                           {"rounds", "count", "of the whole job"},
                           {"program", "ModelBlob"},
                           {"state", "ModelBlob", "the parameters after the round"},
                           {"datasets", "ModelData[]", "that it is trained on"},
                           {"losses", "ModelLoss[]", "of the rounds up to this one"},
                           {"mirrors", "text[]",
                            "that serve the blobs of public models (docs/NETWORK.md); empty for "
                            "others"}});
    out["ModelOffer"] =
        schema({{"state", "hash~", "root of an uploaded base state"},
                {"program", "hash~", "blob root of the uploaded train program"},
                {"tokenizer", "hash~", "blob root of uploaded tokenizer files"},
                {"job", "hash~", "a job of the owner, in the place of the uploads"},
                {"round", "count~", "of the job; without it the newest"},
                {"version", "count~", "that the new version must have"},
                {"licence", "text", "an SPDX license expression"},
                {"visibility", "text~", "without it private for a private licence, else public"},
                {"allowed", "address[]~", "of an allow-list; at most 1000"}});
    out["ModelVersion"] =
        schema({{"name", "text"},
                {"version", "count", "of the name, from 1"},
                {"owner", "address", "of the name"},
                {"state", "ModelBlob", "the weights; `init` takes their root"},
                {"program", "ModelBlob", "the train program that they are of"},
                {"tokenizer", "hash?", "root; null: not known"},
                {"tokenizer_blob", "hash?", "of its files; null: not given"},
                {"licence", "text", "an SPDX license expression"},
                {"job_id", "hash?", "that trained them; null: uploaded"},
                {"round", "count?", "of the job"},
                {"visibility", "text", "public, allow-list or private"},
                {"allowed", "address[]", "who may see it; told to the owner alone"},
                {"registered_at_ms", "time"}});
    out["ModelNameList"] = schema({{"models", "ModelVersion[]"}});
    out["ModelVersionList"] = schema({{"versions", "ModelVersion[]"}});
}

}  // namespace gym::api
