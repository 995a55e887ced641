#include "tools/spectrogram_options.h"

#include <charconv>
#include <memory>
#include <string_view>

#include "lib/core/file_io.h"
#include "lib/core/key_hash.h"
#include "lib/signal/hms.h"
#include "lib/signal/statistics_file.h"
#include "tools/picture_options.h"

namespace prep {
namespace {

using signal::Center;
using signal::Detrend;
using signal::Gaps;
using signal::LogScale;
using signal::Mode;
using signal::Normalize;
using signal::NpyType;
using signal::OpenOptions;
using signal::Outside;
using signal::Precision;
using signal::Scaling;

constexpr std::size_t kDefaultSegment = 256;
constexpr std::uint64_t kLargestFile = 1 << 30;

const Choices<signal::MissingPolicy> kMissing{{"error", signal::MissingPolicy::error},
                                              {"zero", signal::MissingPolicy::zero},
                                              {"nan", signal::MissingPolicy::nan},
                                              {"skip", signal::MissingPolicy::skip}};
const Choices<Gaps> kGaps{{"split", Gaps::split}, {"nan", Gaps::nan}};
const Choices<Outside> kPads{
    {"none", Outside::leave_out}, {"zero", Outside::zero}, {"nan", Outside::nan}};
const Choices<Detrend> kDetrends{
    {"constant", Detrend::constant}, {"linear", Detrend::linear}, {"none", Detrend::none}};
const Choices<Center> kCenters{
    {"none", Center::none}, {"reflect", Center::reflect}, {"zero", Center::zero}};
const Choices<Mode> kModes{
    {"psd", Mode::psd}, {"magnitude", Mode::magnitude}, {"complex", Mode::complex}};
const Choices<Scaling> kScalings{
    {"density", Scaling::density}, {"spectrum", Scaling::spectrum}, {"none", Scaling::none}};
const Choices<Precision> kPrecisions{{"float", Precision::single}, {"double", Precision::twofold}};
const Choices<signal::Layout> kLayouts{
    {"CFT", signal::Layout::cft}, {"FTC", signal::Layout::ftc}, {"CTF", signal::Layout::ctf}};
const Choices<OpenOptions::NpyLayout> kNpyLayouts{
    {"channels-time", OpenOptions::NpyLayout::channels_time},
    {"time-channels", OpenOptions::NpyLayout::time_channels}};
const Choices<OpenOptions::TimeColumn> kTimeColumns{{"auto", OpenOptions::TimeColumn::automatic},
                                                    {"first", OpenOptions::TimeColumn::first},
                                                    {"none", OpenOptions::TimeColumn::none}};

// A choice that a preset makes where it is not given.
template <typename T>
void add_preset_choice(CLI::App& app, const std::string& name, std::optional<std::string>& word,
                       const Choices<T>& choices, const std::string& help) {
  std::string words;
  for (const auto& [choice, value] : choices) words += (words.empty() ? "" : ", ") + choice;
  app.add_option(name, word, help + ": " + words)
      ->check(CLI::IsMember(choices))
      ->option_text("WORD");
}

template <typename T>
T chosen(const std::optional<std::string>& word, const Choices<T>& choices, T otherwise) {
  return word ? choices.at(*word) : otherwise;
}

double parse_number(std::string_view text, std::string_view option) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail(Code::usage, "{}: '{}' is no number", option, printable(text));
  }
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& name : signal::parse_channel_file(text).names) names.push_back(name.text);
  return names;
}

}  // namespace

// --- declaring -----------------------------------------------------------------------------------

void SpectrogramOptions::declare(CLI::App& app) {
  declare_signal(app);
  declare_epochs(app);
  declare_transform(app);
  declare_values(app);
  declare_inputs(app);
}

void SpectrogramOptions::declare_signal(CLI::App& app) {
  app.add_option("--channels", channels_,
                 "10-20, or names with commas between them, or @FILE; without it, all")
      ->option_text("LIST");
  app.add_option("--montage", montage_, "none, average, bipolar:A-B,C-D, double-banana")
      ->option_text("WORD");
  add_choice(app, "--missing", missing_, kMissing, "a channel that is asked for and not there");
  app.add_option("--rate", rate_, "resample to this rate")->option_text("HZ");
  app.add_option("--highpass", highpass_, "zero-phase Butterworth high-pass")->option_text("HZ");
  app.add_option("--lowpass", lowpass_, "zero-phase Butterworth low-pass")->option_text("HZ");
  app.add_option("--notch", notches_, "zero-phase notches at these frequencies, with commas")
      ->option_text("HZ");
}

void SpectrogramOptions::declare_epochs(CLI::App& app) {
  app.add_option("--epoch", epoch_, "cut into epochs of this length")->option_text("SEC");
  app.add_option("--stride", stride_, "from one epoch's start to the next (the epoch's length)")
      ->option_text("SEC");
  app.add_option("--events", events_, "epochs around annotations that match")->option_text("REGEX");
  add_choice(app, "--pad", pad_, kPads, "what an epoch around an event finds beyond the ends");
  add_choice(app, "--gaps", gaps_, kGaps, "at gaps in a recording, split it or fill them");
}

void SpectrogramOptions::declare_transform(CLI::App& app) {
  app.add_option("--preset", preset_,
                 "conventions, where options don't say others: hms, librosa, scipy, torch")
      ->check(CLI::IsMember({"hms", "librosa", "scipy", "torch"}))
      ->option_text("WORD");
  app.add_option("--window", window_, "hann (the default), hamming, tukey:A, dpss:NW, boxcar")
      ->option_text("WORD");
  app.add_option("--nperseg", nperseg_, "samples under the window (256)")->option_text("N");
  app.add_option("--hop", hop_, "samples from one frame to the next (nperseg / 4)")
      ->option_text("N");
  app.add_option("--nfft", nfft_, "length of the transform (nperseg)")->option_text("N");
  add_preset_choice(app, "--detrend", detrend_, kDetrends, "what is taken off each frame");
  add_preset_choice(app, "--center", center_, kCenters,
                    "pad the ends, so that frame i is centred on sample i * hop");
  add_preset_choice(app, "--mode", mode_, kModes, "the values (psd)");
  add_preset_choice(app, "--scaling", scaling_, kScalings, "their scale");
  add_choice(app, "--precision", precision_, kPrecisions, "of the transforms");
}

void SpectrogramOptions::declare_values(CLI::App& app) {
  app.add_option("--fmin", fmin_, "lowest frequency kept")->option_text("HZ");
  app.add_option("--fmax", fmax_, "highest frequency kept")->option_text("HZ");
  app.add_option("--bands", bands_, "means over bands: delta, theta, alpha, beta, gamma, LOW-HIGH")
      ->option_text("LIST");
  app.add_option("--mel", mels_, "this many mels (Slaney's) in place of bins")
      ->check(CLI::Range(std::size_t{1}, signal::kMaxTransform))
      ->option_text("N");
  app.add_option("--log", log_, "none, log, db, or db:TOP (nothing below the maximum less TOP dB)")
      ->option_text("WORD");
  app.add_option("--normalize", normalize_,
                 "to mean 0 and deviation 1: none, channel, recording, or a FILE of --stats")
      ->option_text("WORD");
  app.add_option("--stats", stats_,
                 "write no arrays, but mean and deviation by channel and frequency to FILE")
      ->option_text("FILE");
  app.add_option("--dtype", dtype_, "float32, float16, uint8, or uint8:LOW:HIGH")
      ->option_text("WORD");
  add_choice(app, "--layout", layout_, kLayouts,
             "axes, slowest first: channels, frequencies, times");
  app.add_flag("--preview", preview_, "add a picture for people");
}

void SpectrogramOptions::declare_inputs(CLI::App& app) {
  app.add_option("--unit", unit_, "of channels whose unit a file does not tell")
      ->option_text("UNIT");
  app.add_option("--rate-in", rate_in_, "of a .npy, or a CSV without a column of times")
      ->option_text("HZ");
  add_choice(app, "--npy-layout", npy_layout_, kNpyLayouts, "axes of a .npy");
  app.add_option("--channel-names", channel_names_,
                 "of a .npy, or a CSV without a header: names with commas, or @FILE")
      ->option_text("LIST");
  add_choice(app, "--time-column", time_column_, kTimeColumns, "of a CSV");
  app.add_option("--part", parts_, "take this part for a recording, and no others")
      ->option_text("PART")
      ->expected(1)
      ->take_all();
}

// --- reading -------------------------------------------------------------------------------------

std::string SpectrogramOptions::read_file(const std::string& path) {
  const FileContent file(path);
  if (file.size() > kLargestFile) fail(Code::limit, "{}: is too large", printable(path));
  std::string text(file.load().text());
  files_[json_text(path)] = fmt::format("{:016x}", key_hash(text));
  return text;
}

// A list as it stands, or what the file of an "@FILE" holds.
std::string SpectrogramOptions::list_or_file(const std::string& word) {
  return word.starts_with('@') ? read_file(word.substr(1)) : word;
}

signal::SignalSettings SpectrogramOptions::signal_settings() {
  signal::SignalSettings settings;
  settings.channels = channels_.starts_with('@')
                          ? signal::parse_channel_file(list_or_file(channels_))
                          : signal::parse_channels(channels_);
  settings.montage = signal::parse_montage(montage_);
  settings.missing = kMissing.at(missing_);
  settings.highpass = highpass_;
  settings.lowpass = lowpass_;
  if (!notches_.empty()) {
    for (const std::string& notch : split(notches_, ',')) {
      settings.notches.push_back(parse_number(notch, "--notch"));
    }
  }
  settings.rate = rate_;
  return settings;
}

signal::StftSettings SpectrogramOptions::stft_settings() const {
  const bool is_scipy = preset_ == "scipy";
  signal::StftSettings settings;
  settings.window = signal::parse_window(window_.value_or("hann"));
  // torch's and librosa's windows are as long as the transform where nothing is said.
  settings.nperseg =
      nperseg_.value_or(is_scipy ? kDefaultSegment : nfft_.value_or(kDefaultSegment));
  settings.nfft = nfft_.value_or(settings.nperseg);
  settings.hop = hop_.value_or(
      std::max<std::size_t>(1, (preset_ == "torch" ? settings.nfft : settings.nperseg) / 4));
  settings.detrend = chosen(detrend_, kDetrends, is_scipy ? Detrend::constant : Detrend::none);
  settings.center = chosen(center_, kCenters,
                           is_scipy             ? Center::none
                           : preset_ == "torch" ? Center::reflect
                                                : Center::zero);
  settings.scaling = chosen(scaling_, kScalings, is_scipy ? Scaling::density : Scaling::none);
  settings.mode = chosen(mode_, kModes, Mode::psd);
  settings.window_centred = !is_scipy;
  return settings;
}

void SpectrogramOptions::set_type(signal::SpectrogramSettings& settings) const {
  const std::vector<std::string> words = split(dtype_, ':');
  if (dtype_ == "float32") {
    settings.type = settings.stft.mode == Mode::complex ? NpyType::complex64 : NpyType::float32;
  } else if (dtype_ == "float16") {
    settings.type = NpyType::float16;
  } else if (words[0] == "uint8" && (words.size() == 1 || words.size() == 3)) {
    settings.type = NpyType::uint8;
    if (words.size() == 3) {
      settings.uint8_scale = {parse_number(words[1], "--dtype"), parse_number(words[2], "--dtype")};
    }
  } else {
    fail(Code::usage, "--dtype {}: give float32, float16, uint8 or uint8:LOW:HIGH",
         printable(dtype_));
  }
}

void SpectrogramOptions::set_log(signal::SpectrogramSettings& settings) const {
  if (log_ == "log") {
    settings.log = LogScale::natural;
  } else if (log_ == "db" || log_.starts_with("db:")) {
    settings.log = LogScale::decibels;
    if (log_ != "db") settings.top = parse_number(std::string_view(log_).substr(3), "--log");
  } else if (log_ != "none") {
    fail(Code::usage, "--log {}: give none, log, db or db:TOP", printable(log_));
  }
}

// Last: a file's statistics must fit all other settings.
void SpectrogramOptions::set_normalize(signal::SpectrogramSettings& settings) {
  if (normalize_ == "none") return;
  if (!stats_.empty()) {
    fail(Code::usage, "--stats gathers values before they are normalised: leave out --normalize");
  }
  if (normalize_ == "channel") {
    settings.normalize = Normalize::channel;
  } else if (normalize_ == "recording") {
    settings.normalize = Normalize::recording;
  } else {
    settings.normalize = Normalize::file;
    settings.statistics = std::make_shared<const signal::StatisticsFile>(
        read_file(normalize_), printable(normalize_), settings);
  }
}

// The recipe fixes everything but what comes before and after it.
void SpectrogramOptions::use_hms(signal::SpectrogramSettings& settings) const {
  const auto refuse = [](bool given, std::string_view option) {
    if (given) fail(Code::usage, "--preset hms says what {} would: leave that out", option);
  };
  refuse(!channels_.empty(), "--channels");
  refuse(montage_ != "none", "--montage");
  refuse(rate_.has_value(), "--rate");
  refuse(window_.has_value(), "--window");
  refuse(nperseg_.has_value(), "--nperseg");
  refuse(hop_.has_value(), "--hop");
  refuse(nfft_.has_value(), "--nfft");
  refuse(detrend_.has_value(), "--detrend");
  refuse(center_.has_value(), "--center");
  refuse(mode_.has_value(), "--mode");
  refuse(scaling_.has_value(), "--scaling");
  refuse(fmin_ || fmax_, "--fmin and --fmax");
  refuse(!bands_.empty(), "--bands");
  refuse(mels_.has_value(), "--mel");
  refuse(log_ != "none", "--log");
  refuse(normalize_ != "none", "--normalize");
  settings.hms = true;
  settings.signal.rate = signal::kHmsRate;
  settings.signal.channels.all = false;
  for (const std::string_view name : signal::hms_electrodes()) {
    settings.signal.channels.names.push_back({std::string(name), false});
  }
  if (settings.type == NpyType::uint8 && !settings.uint8_scale) settings.uint8_scale = {-1, 1};
}

signal::SpectrogramSettings SpectrogramOptions::settings() {
  signal::SpectrogramSettings settings;
  settings.signal = signal_settings();
  settings.stft = stft_settings();
  settings.precision = kPrecisions.at(precision_);
  settings.fmin = fmin_;
  settings.fmax = fmax_;
  if (!bands_.empty()) settings.bands = signal::parse_bands(bands_);
  settings.mels = mels_.value_or(0);
  settings.layout = kLayouts.at(layout_);
  set_type(settings);
  set_log(settings);
  if (preset_ == "hms") use_hms(settings);
  set_normalize(settings);
  settings.validate();
  if (preview_ && settings.stft.mode == Mode::complex) {
    fail(Code::usage, "--preview shows powers or magnitudes, not --mode complex");
  }
  return settings;
}

RecordingOptions SpectrogramOptions::recordings(const signal::SpectrogramSettings& settings) {
  RecordingOptions options;
  options.open.unit = unit_;
  options.open.rate = rate_in_;
  if (rate_in_ && !(*rate_in_ > 0 && *rate_in_ <= 1e9)) {
    fail(Code::usage, "--rate-in {}: it has to be above 0", *rate_in_);
  }
  if (channel_names_.starts_with('@')) {
    options.open.names = names_in(list_or_file(channel_names_));
  } else if (!channel_names_.empty()) {
    options.open.names = split(channel_names_, ',');
  }
  options.open.npy_layout = kNpyLayouts.at(npy_layout_);
  options.open.time_column = kTimeColumns.at(time_column_);
  options.signal = settings.signal;
  options.epochs.length = epoch_;
  options.epochs.stride = stride_;
  options.epochs.events = events_;
  options.epochs.gaps = kGaps.at(gaps_);
  options.epochs.outside = kPads.at(pad_);
  options.epochs.validate();
  options.parts = parts_;
  options.preview = preview_ && stats_.empty();
  return options;
}

}  // namespace prep
