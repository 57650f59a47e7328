// Which software compares an exported model's logits: Pythons and scripts of a few lines of shell.
#include "logits_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::devnet {
namespace {

namespace fs = std::filesystem;

class LogitsCheck : public ::testing::Test {
  protected:
    /// A Python that runs scripts with sh, and imports torch or does not.
    std::string python(const std::string& name, bool has_torch) {
        const std::string imports = has_torch ? "exit 0" : "exit 1";
        write(name, "#!/bin/sh\n[ \"$2\" = 'import torch' ] && " + imports +
                        "\n[ \"$1\" = -c ] && exit 0\nexec sh \"$@\"\n");
        fs::permissions(place_ / name, fs::perms::owner_all);
        return (place_ / name).string();
    }

    void write(const std::string& name, const std::string& content) {
        ASSERT_TRUE(write_file_atomic(place_ / name, as_bytes(content)).ok());
    }

    void SetUp() override {
        write(
            "exported_logits.py",
            R"(echo '{"software":"plain Python","logits":8,"relative_error":1e-4,"bound":2e-3}')");
        write("exported_logits_torch.py",
              R"(echo "a notice of torch"; echo '{"software":"PyTorch 2","logits":8,)"
              R"("relative_error":1e-4,"bound":2e-3,"rounded_relative_error":0.0,)"
              R"("rounded_bound":1e-5}')");
    }

    ExportedModel compared(const std::vector<std::string>& pythons) {
        ExportedModel out;
        const Status status = compare_logits(place_.path(), "model", "logits", pythons, out);
        EXPECT_TRUE(status.ok()) << status.error().message;
        return out;
    }

    gym::testing::TemporaryFolder place_;
};

TEST_F(LogitsCheck, ComparesInTorchWhereAPythonHasIt) {
    const ExportedModel model =
        compared({"/nowhere/python3", python("plain", false), python("torch", true)});
    ASSERT_TRUE(model.logits.has_value());
    EXPECT_EQ(model.logits->software, "PyTorch 2");
    EXPECT_EQ(model.logits->count, 8U);
    EXPECT_EQ(model.logits->rounded_error, 0.0);
    EXPECT_TRUE(model.logits->holds());
    Report report;
    report.model = model;
    EXPECT_NE(to_text(report).find("8 logits computed again from the folder in PyTorch 2: relative "
                                   "error 1.0e-04 (at most 2e-03), with gym's roundings 0.0e+00 "
                                   "(at most 1e-05)\n"),
              std::string::npos)
        << to_text(report);
    EXPECT_EQ(boost::json::parse(to_json(report, {})).at("model").at("logits").at("software"),
              "PyTorch 2");
}

TEST_F(LogitsCheck, SaysThatItComparedInPlainPython) {
    const ExportedModel model = compared({"/nowhere/python3", python("plain", false)});
    ASSERT_TRUE(model.logits.has_value());
    EXPECT_EQ(model.logits->software, "plain Python (no python3 of this machine has PyTorch)");
    EXPECT_FALSE(model.logits->rounded_error.has_value());
    EXPECT_TRUE(model.logits->holds());
}

TEST_F(LogitsCheck, AComparisonThatDidNotHappenFailsTheDemo) {
    Report report;
    report.model = compared({"/nowhere/python3"});
    EXPECT_FALSE(report.model->logits.has_value());
    const std::vector<std::string> failed = failed_checks(report, {});
    EXPECT_NE(std::ranges::find(failed,
                                "the exported model's logits were not compared: there is "
                                "no python3 on this machine"),
              failed.end());
}

TEST_F(LogitsCheck, LogitsThatDifferFailTheDemo) {
    Report report;
    report.model = compared({python("torch", true)});
    const std::string sentence = "the exported model's logits differ from those of gym";
    const auto fails = [&] {
        const auto failed = failed_checks(report, {});
        return std::ranges::find(failed, sentence) != failed.end();
    };
    EXPECT_FALSE(fails());
    report.model->logits->rounded_error = 1e-4;
    EXPECT_TRUE(fails());
    report.model->logits->rounded_error = 0;
    report.model->logits->relative_error = 1e-2;
    EXPECT_TRUE(fails());
}

TEST_F(LogitsCheck, AScriptThatFailsIsQuoted) {
    write("exported_logits.py", "echo 'Traceback: no such tensor' >&2; exit 1");
    ExportedModel out;
    const Status status =
        compare_logits(place_.path(), "model", "logits", {python("plain", false)}, out);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("no such tensor"), std::string::npos)
        << status.error().message;
}

}  // namespace
}  // namespace gym::devnet
