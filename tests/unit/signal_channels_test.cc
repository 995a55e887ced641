#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "lib/signal/channels.h"
#include "lib/signal/montage.h"
#include "lib/signal/units.h"

namespace prep::signal_channels_test {

using namespace prep::signal;
using Names = std::vector<std::string>;

namespace {

const Names k19 = {"Fp1", "F3",  "C3", "P3", "F7", "T3", "T5", "O1", "Fz", "Cz",
                   "Pz",  "Fp2", "F4", "C4", "P4", "F8", "T4", "T6", "O2"};

RecordingInfo info_of(const Names& labels) {
  RecordingInfo info;
  for (const std::string& label : labels) {
    Channel channel;
    channel.label = label;
    channel.rate = 256;
    channel.unit = kMicrovolt;
    channel.unit_known = true;
    info.channels.push_back(channel);
  }
  name_channels(info.channels);
  return info;
}

ChannelPlan plan(const RecordingInfo& info, const std::string& channels,
                 const std::string& montage = "none",
                 MissingPolicy missing = MissingPolicy::error) {
  return plan_channels(info, parse_channels(channels), parse_montage(montage), missing);
}

Names names_of(const ChannelPlan& plan) {
  Names names;
  for (const OutputChannel& output : plan.outputs) names.push_back(output.name);
  return names;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

std::string terms_of(const OutputChannel& output) {
  std::string text;
  for (const auto& term : output.terms) text += fmt::format("{:+}*{} ", term.weight, term.channel);
  return text;
}

}  // namespace

TEST_CASE("labels of the same electrode come out as one name") {
  for (const char* label : {"EEG FP1-REF", "Fp1.", "FP1", "EEG Fp1", "fp1..", "EEG FP1-LE", "Fp1 ",
                            "POL Fp1", "EEG Fp1-Ref", "EEG-Fp1"}) {
    CHECK(clean_label(label) == "Fp1");
  }
  CHECK(clean_label("EEG T3-REF") == "T3");
  CHECK(clean_label("CZ") == "Cz");
  CHECK(clean_label("AFZ.") == "AFz");
  CHECK(clean_label("FP1-F7") == "Fp1-F7");
  CHECK(clean_label("EEG FP1-REF2") == "FP1-REF2");
  CHECK(clean_label("EEG") == "EEG");
  CHECK(clean_label("EEG 12") == "12");
  CHECK(clean_label("SpO2") == "SpO2");
  CHECK(clean_label("-") == "-");
  CHECK(clean_label(".") == ".");
  CHECK(clean_label("") == "");
}

TEST_CASE("the 10-20 set comes out in the same order with the same names") {
  for (int style = 0; style < 4; ++style) {
    Names labels;
    for (const std::string& name : k19) {
      labels.insert(labels.begin(), style == 0   ? "EEG " + upper(name) + "-REF"
                                    : style == 1 ? name + "."
                                    : style == 2 ? upper(name)
                                                 : "EEG " + name);
    }
    const ChannelPlan chosen = plan(info_of(labels), "10-20");
    CHECK(names_of(chosen) == k19);
    CHECK(chosen.outputs[0].terms[0].channel == 18);
    CHECK(chosen.warnings == Names{"it has no EKG: left out"});
    labels.push_back("EEG EKG-REF");
    CHECK(names_of(plan(info_of(labels), "10-20")).back() == "EKG");
  }
}

TEST_CASE("electrodes answer to their older and newer names") {
  const RecordingInfo info = info_of({"T7", "T8", "P7", "P8", "ECG"});
  const ChannelPlan chosen = plan(info, "T3,T4,T5,T6,EKG,t7");
  CHECK(names_of(chosen) == Names{"T3", "T4", "T5", "T6", "EKG", "T7"});
  for (std::size_t i = 0; i < 5; ++i) CHECK(chosen.outputs[i].terms[0].channel == i);
  // Where both are there, each is itself.
  CHECK(plan(info_of({"T7", "T3"}), "T3").outputs[0].terms[0].channel == 1);
}

TEST_CASE("a missing channel is an error that says what is there, or what was asked for") {
  const RecordingInfo info = info_of({"EEG Fp1-REF", "EEG Fp2-REF"});
  CHECK_THROWS_WITH(plan(info, "Fp1,Cz,Pz"), "it has no Cz, Pz; it has Fp1, Fp2");
  CHECK(names_of(plan(info, "Cz,Fp1", "none", MissingPolicy::skip)) == Names{"Fp1"});
  const ChannelPlan filled = plan(info, "Cz,Fp1", "none", MissingPolicy::nan);
  CHECK(filled.outputs[0].missing);
  CHECK(filled.outputs[0].terms.empty());
  CHECK(filled.warnings == Names{"it has no Cz: NaN"});
  CHECK(plan(info, "Cz", "none", MissingPolicy::zero).warnings == Names{"it has no Cz: zeros"});
}

TEST_CASE("channels that can't be read are left out, and an error when asked for") {
  RecordingInfo info = info_of({"Fp1", "-", "Status", "EDF Annotations"});
  info.channels[1].fault = "its digital range is empty (0 to 0)";
  info.channels[2].kind = ChannelKind::status;
  info.channels[3].kind = ChannelKind::annotations;
  CHECK(names_of(plan(info, "all")) == Names{"Fp1"});
  CHECK(names_of(plan(info, "Status")) == Names{"Status"});
  CHECK_THROWS_WITH(plan(info, "-"),
                    Catch::Contains("channel '-' can't be read: its digital range"));
  CHECK_THROWS_AS(plan(info, "EDF Annotations"), Error);
}

TEST_CASE("labels that come twice") {
  const RecordingInfo info = info_of({"T8-P8", "Cz", "T8-P8"});
  CHECK(info.channels[2].name == "T8-P8:2");
  const ChannelPlan first = plan(info, "T8-P8");
  CHECK(first.outputs[0].terms[0].channel == 0);
  CHECK(first.warnings.size() == 1);
  const ChannelPlan second = plan(info, "T8-P8:2,:2");
  CHECK(names_of(second) == Names{"T8-P8:2", "Cz"});
  CHECK(second.outputs[0].terms[0].channel == 2);
  CHECK(second.warnings.empty());
  CHECK_THROWS_AS(plan(info, ":4"), Error);
  CHECK_THROWS_AS(plan(info, ":0"), Error);
}

TEST_CASE("lists of names") {
  CHECK(parse_channels("all").all);
  CHECK_THROWS_AS(parse_channels("Fp1,,Fp2"), Error);
  const ChannelSelection file = parse_channel_file("\xef\xbb\xbf# ours\r\nFp1\r\n\n  C,z \n");
  REQUIRE(file.names.size() == 2);
  CHECK(file.names[1].text == "C,z");
  CHECK_THROWS_AS(parse_channel_file("# nothing\n"), Error);
}

TEST_CASE("the average reference is of electrodes only") {
  const ChannelPlan average = plan(info_of({"Fp1", "Cz", "EKG", "A1"}), "all", "average");
  CHECK(average.average == std::vector<std::size_t>{0, 1});
  CHECK(average.outputs[0].minus_average);
  CHECK_FALSE(average.outputs[2].minus_average);
  CHECK(average.channels == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(plan(info_of({"E1", "E2", "E3", "C1"}), "all", "average").average.size() == 4);
  const ChannelPlan holes = plan(info_of({"Fp1", "Cz"}), "Fp1,Pz", "average", MissingPolicy::nan);
  CHECK(holes.average == std::vector<std::size_t>{0});
}

TEST_CASE("the double banana") {
  Names labels = k19;
  labels[5] = "T7";
  const ChannelPlan banana = plan(info_of(labels), "all", "double-banana");
  CHECK(names_of(banana) == Names{"Fp1-F7", "F7-T3", "T3-T5", "T5-O1", "Fp1-F3", "F3-C3", "C3-P3",
                                  "P3-O1", "Fp2-F4", "F4-C4", "C4-P4", "P4-O2", "Fp2-F8", "F8-T4",
                                  "T4-T6", "T6-O2"});
  CHECK(banana.outputs[1].chain == "LL");
  CHECK(banana.outputs[8].chain == "RP");
  CHECK(banana.outputs[12].chain == "RL");
  CHECK(terms_of(banana.outputs[1]) == "+1*4 -1*5 ");
  CHECK(banana.channels.size() == 16);
}

TEST_CASE("pairs") {
  const RecordingInfo info = info_of({"Fp1", "F7", "T7-P7", "P8-T8"});
  const ChannelPlan pairs = plan(info, "all", "bipolar: Fp1-F7 ,T3-T5,T4-T6");
  CHECK(names_of(pairs) == Names{"Fp1-F7", "T3-T5", "T4-T6"});
  CHECK(terms_of(pairs.outputs[0]) == "+1*0 -1*1 ");
  CHECK(terms_of(pairs.outputs[1]) == "+1*2 ");
  CHECK(terms_of(pairs.outputs[2]) == "-1*3 ");
  CHECK_THROWS_WITH(plan(info, "all", "bipolar:Fp1-Cz"), Catch::Contains("it has no Fp1-Cz"));
  CHECK_THROWS_WITH(plan(info, "Fp1", "bipolar:Fp1-F7"), Catch::Contains("it has no Fp1-F7"));
  for (const char* word : {"bipolar:", "bipolar:Fp1", "bipolar:-Fp1", "bipolar:a-b-c", "banana"}) {
    CHECK_THROWS_AS(parse_montage(word), Error);
  }
}

TEST_CASE("channels of different rates or units have no difference") {
  RecordingInfo info = info_of({"Fp1", "F7", "Cz"});
  info.channels[1].rate = 128;
  info.channels[2].unit = "%";
  CHECK_THROWS_AS(plan(info, "all", "bipolar:Fp1-F7"), Error);
  CHECK_THROWS_AS(plan(info, "all", "bipolar:Fp1-Cz"), Error);
  CHECK_THROWS_AS(plan(info, "all", "average"), Error);
}

TEST_CASE("units") {
  for (const char* unit : {"uV", "\xb5V", "\xc2\xb5V", "\xce\xbcV", " uV ", "UV"}) {
    CHECK(microvolts_per(unit) == 1);
  }
  CHECK(microvolts_per("nV") == 1e-3);
  CHECK(microvolts_per("mV") == 1e3);
  CHECK(microvolts_per("V") == 1e6);
  for (const char* unit : {"", ".V", "MV", "\xef\xbf\xbdV", "%", "u", "uVolt"}) {
    CHECK_FALSE(microvolts_per(unit));
  }
  CHECK(scale_unit("", "mV").factor == 1e3);
  CHECK(scale_unit("uV", "mV").factor == 1);
  CHECK(scale_unit("%", "mV").unit == "%");
  CHECK(scale_unit("", "furlong").unit == "furlong");
  CHECK_FALSE(scale_unit(".V", "").known);
}

}  // namespace prep::signal_channels_test
