#pragma once

// Trains small SentencePiece models for tests. Not for programs that link gRPC or libtorch: see
// src/app/tokenizer/CMakeLists.txt.

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unordered_map>

namespace gym::testing {

/// Trains on `text` and returns the model file, which lies in `folder`. `settings` are spm_train's
/// options.
inline std::string train_sentence_piece(const std::filesystem::path& folder,
                                        const std::string& name, const std::string& text,
                                        std::unordered_map<std::string, std::string> settings) {
    const std::filesystem::path input = folder / (name + ".txt");
    std::ofstream(input, std::ios::binary) << text;
    settings["input"] = input;
    settings["model_prefix"] = folder / name;
    settings["minloglevel"] = "2";
    const auto status = sentencepiece::SentencePieceTrainer::Train(settings);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return folder / (name + ".model");
}

/// 400 lines with spaces, numbers and letters beyond ASCII.
inline std::string sentence_piece_text() {
    std::string text;
    for (int i = 0; i < 400; ++i)
        text += "line " + std::to_string(i) + " of a text to learn: caf\u00e9, na\u00efve\n";
    return text;
}

/// Pieces for every byte: no text is beyond it, and nothing of a text is lost.
inline std::unordered_map<std::string, std::string> lossless_pieces(int count) {
    return {{"vocab_size", std::to_string(count)},
            {"byte_fallback", "true"},
            {"normalization_rule_name", "identity"},
            {"remove_extra_whitespaces", "false"}};
}

}  // namespace gym::testing
