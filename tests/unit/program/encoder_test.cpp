// Encoders: which ops are written, and which settings are refused. That the numbers are right is
// the business of torch_encoder_test.cpp.
#include <gtest/gtest.h>

#include "gym/program/codec.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/train_program.hpp"

namespace gym::program {
namespace {

TrainConfig encoder_config(Task task) {
    TrainConfig config;
    config.batch = 4;
    config.model = {.vocabulary = 40, .context = 12, .layers = 2, .heads = 2, .width = 8};
    config.model.architecture = Architecture::kEncoder;
    config.model.task = task;
    if (task == Task::kClassify) config.model.classes = 3;
    if (task == Task::kEmbed) config.model.passages = 2;
    if (task == Task::kRerank) config.model.passages = 3;
    return config;
}

Program made(const TrainConfig& config) {
    auto program = train_program(config);
    GYM_ASSERT(program.ok(), program.ok() ? "" : program.error().message);
    return *std::move(program);
}

std::string refusal(const TrainConfig& config) {
    const auto program = train_program(config);
    return program.ok() ? "" : program.error().message;
}

TEST(Encoders, HideNothingRightOfTheDiagonal) {
    for (const Task task : {Task::kMasked, Task::kClassify, Task::kEmbed, Task::kRerank}) {
        const Program program = made(encoder_config(task));
        for (const Op& op : program.ops()) {
            const bool attends = op.code == Opcode::kAttention || op.code == Opcode::kAttentionGrad;
            EXPECT_TRUE(!attends || op.attributes[3] == 1);
        }
        const Program expanded = expand(program).value();
        for (const Op& op : expanded.ops())
            EXPECT_NE(op.code, Opcode::kCausalFill);
    }
}

TEST(Encoders, ReadSequencesThatShareTheContext) {
    const auto sequences = [](Task task) {
        const Program program = made(encoder_config(task));
        for (const Op& op : program.ops())
            if (op.code == Opcode::kAttention)
                return std::pair(program.slot(op.outputs[1]).dims[0], op.attributes[0]);
        return std::pair(0U, std::uint64_t{0});
    };
    EXPECT_EQ(sequences(Task::kMasked), std::pair(4U, std::uint64_t{12}));
    EXPECT_EQ(sequences(Task::kEmbed), std::pair(12U, std::uint64_t{4})) << "a query, 2 passages";
    EXPECT_EQ(sequences(Task::kRerank), std::pair(12U, std::uint64_t{4})) << "3 passages";
}

TEST(Encoders, DrawMasksInTrainingAloneAndRowsHaveAStride) {
    TrainConfig config = encoder_config(Task::kMasked);
    const Program train = made(config);
    EXPECT_NE(train.find_slot(kRandomInput), kNoSlot);
    EXPECT_EQ(train.find_slot(kBatchStride), kNoSlot) << "any text is a dataset";
    const Program evaluation = evaluation_program(train).value();
    EXPECT_EQ(evaluation.find_slot(kRandomInput), kNoSlot);
    EXPECT_NE(evaluation.find_slot("hidden_in_evaluation"), kNoSlot);
    EXPECT_EQ(*logits_program(train), *logits_program(config.model, config.batch));
    config.model.dropout = 0.1;
    EXPECT_EQ(program_root(evaluation_program(made(config)).value()), program_root(evaluation));
    for (const Task task : {Task::kClassify, Task::kEmbed, Task::kRerank}) {
        const Program rows = made(encoder_config(task));
        EXPECT_NE(rows.find_slot(kBatchStride), kNoSlot);
        EXPECT_EQ(rows.find_slot(kRandomInput), kNoSlot);
    }
}

TEST(Encoders, KeepPaddingOutWithOpsThatOtherModelsHave) {
    for (const Task task : {Task::kMasked, Task::kClassify, Task::kEmbed, Task::kRerank}) {
        TrainConfig config = encoder_config(task);
        config.model.padding_token = 0;
        const Program program = made(config);
        EXPECT_NE(program.find_slot(kBatchStride), kNoSlot) << "a window is a row";
        EXPECT_EQ(has_labels(program), task != Task::kMasked);
        EXPECT_EQ(program.slots_of(SlotKind::kParam).size(),
                  made(encoder_config(task)).slots_of(SlotKind::kParam).size());
        EXPECT_EQ(*logits_program(program), *logits_program(config.model, config.batch));
    }
}

TEST(Encoders, SayWhichSettingIsWrong) {
    const auto with = [](Task task, auto change) {
        TrainConfig config = encoder_config(task);
        change(config);
        return refusal(config);
    };
    const auto expect = [](const std::string& message, const char* words) {
        EXPECT_NE(message.find(words), std::string::npos) << message;
    };
    expect(with(Task::kMasked, [](TrainConfig& c) { c.model.mask_rate = 0; }), "mask_rate");
    expect(with(Task::kMasked, [](TrainConfig& c) { c.model.mask_rate = 0.05; }), "a window hides");
    expect(with(Task::kMasked, [](TrainConfig& c) { c.model.mask_token = 40; }), "mask_token");
    expect(with(Task::kMasked, [](TrainConfig& c) { c.model.classes = 3; }), "classify alone");
    expect(with(Task::kMasked, [](TrainConfig& c) { c.model.padding_token = 40; }),
           "padding_token must be below");
    expect(with(Task::kMasked, [](TrainConfig& c) { c.model.padding_token = 39; }), "two tokens");
    expect(with(Task::kClassify,
                [](TrainConfig& c) {
                    c.model.architecture = Architecture::kGpt;
                    c.model.padding_token = 0;
                }),
           "an encoder (architecture: bert) can have both");
    expect(with(Task::kClassify, [](TrainConfig& c) { c.model.classes = 0; }), "classes");
    expect(with(Task::kEmbed, [](TrainConfig& c) { c.model.context = 13; }), "its 3 sequences");
    expect(with(Task::kEmbed, [](TrainConfig& c) { c.model.temperature = 0; }), "temperature");
    expect(with(Task::kRerank, [](TrainConfig& c) { c.model.passages = 1; }), "passages");
    expect(with(Task::kEmbed,
                [](TrainConfig& c) {
                    c.model.passages = 1;
                    c.micro_batches = 4;
                }),
           "batch must be at least 2");
}

}  // namespace
}  // namespace gym::program
