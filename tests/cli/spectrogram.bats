# prep-spectrogram: recordings in, arrays and their descriptions out.
load common

setup_file() {
  export EEG="$BATS_FILE_TMPDIR/eeg"
  /usr/bin/python3 "$PREP_SOURCE/tests/data/make_eeg.py" "$EEG"
  cat > "$BATS_FILE_TMPDIR/arrays.py" <<'PY'
import glob, json, subprocess, sys
import numpy as np

def tool(*words, status=0):
    done = subprocess.run(["prep-spectrogram", "--quiet", *map(str, words)], capture_output=True)
    assert done.returncode == status, (words, done)
    return done.stderr.decode()

def read(name):
    return np.load(name + ".npy"), json.load(open(name + ".spec.json"))

def close(found, wanted, atol):
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    assert (np.isnan(found) == np.isnan(wanted)).all()
    error = np.nanmax(np.abs(found - wanted)) / np.nanmax(np.abs(wanted))
    assert error <= atol, error
PY
  export PYTHONPATH="$BATS_FILE_TMPDIR"
}

setup() { cd "$BATS_TEST_TMPDIR"; }

python() { /usr/bin/python3 -; }

spec() {  # FILE EXPRESSION
  /usr/bin/python3 -c "import json; s = json.load(open('$1')); print($2)"
}

@test "golden values of every convention, in double and in float" {
  python <<'PY'
from arrays import *
n = np.arange(64)
x = np.stack([np.sin(2 * np.pi * 10 * n / 64) + .5 * np.cos(2 * np.pi * 20 * n / 64 + .3) + .25,
              .01 * n + .5 * (-1.) ** n + np.sin(2 * np.pi * 5.5 * n / 64)])
np.save("x.npy", x)
def run(*words, precision="double"):
    tool("x.npy", "-o", "out", "--force", "--rate-in", 64, "--precision", precision, *words)
    return read("out/x")
cut = ("--nperseg", 16, "--hop", 8)
for precision, atol in (("double", 1e-6), ("float", 2e-6)):
    p, about = run(*cut, precision=precision)
    assert p.shape == (2, 9, 7) and p.dtype == "<f4", p.shape
    times = about["times"]
    assert (times["first"], times["step"], times["count"]) == (.125, .125, 7)
    assert about["frequencies"] == [4. * k for k in range(9)]
    top = p.max()
    for place, value in (((0, 2, 0), .0595518073293505), ((0, 3, 0), .0602878529730589),
                         ((0, 5, 3), .0214841940880298), ((1, 0, 0), .0250258542297621),
                         ((1, 8, 6), .0417718604853009)):
        assert abs(p[place] - value) <= atol * top, (place, p[place])
    for words, total in ((cut, 2.6520020853878), ((*cut, "--detrend", "linear"), 2.61961419643841),
                         ((*cut, "--detrend", "none"), 2.6951665351199),
                         ((*cut, "--scaling", "spectrum"), 15.9120125123268),
                         (("--nperseg", 15, "--hop", 7), 2.8503049600411),
                         (("--nperseg", 15, "--hop", 3, "--nfft", 32, "--detrend", "linear",
                           "--scaling", "spectrum"), 79.0933677133553)):
        p, _ = run(*words, precision=precision)
        assert abs(p.sum(dtype=float) - total) <= 3e-6 * total, (words, p.sum(dtype=float))
    for words, total in ((("torch",), 914.433570877814), (("librosa",), 729.569721949783),
                         (("torch", "--center", "none"), 620.327138620004)):
        p, _ = run("--preset", *words, "--nfft", 16, "--nperseg", 16, "--hop", 8,
                   precision=precision)
        assert abs(p.sum(dtype=float) - total) <= 3e-6 * total, (words, p.sum(dtype=float))
PY
}

@test "scipy's spectrogram itself, through the program, whatever the options" {
  python <<'PY'
from arrays import *
import scipy.signal
random = np.random.default_rng(7)
x = random.normal(0, 20, (3, 2000)) + 5
np.save("x.npy", x)
settings = [(window, length, hop, nfft, detrend, mode, scaling)
            for i, (window, detrend, mode, scaling) in enumerate(
                (w, d, m, s) for w in ("hann", "hamming", "tukey:0.25", "dpss:2.5", "boxcar")
                for d in ("constant", "linear", "none") for m in ("psd", "magnitude", "complex")
                for s in ("density", "spectrum"))
            for length, hop, nfft in [((64, 16, 64), (65, 13, 65), (50, 25, 128), (33, 33, 100))[i % 4]]]
assert len(settings) == 90
for window, length, hop, nfft, detrend, mode, scaling in settings:
    tool("x.npy", "-o", "out", "--force", "--rate-in", 200, "--precision", "double", "--window",
         window, "--nperseg", length, "--hop", hop, "--nfft", nfft, "--detrend", detrend, "--mode",
         mode, "--scaling", scaling)
    p, about = read("out/x")
    name, _, number = window.partition(":")
    f, t, wanted = scipy.signal.spectrogram(
        x, 200, (name, float(number)) if number else name, length, length - hop, nfft,
        False if detrend == "none" else detrend, scaling=scaling, mode=mode)
    close(p, wanted, 1e-6)
    assert np.allclose(about["frequencies"], f)
    times = about["times"]
    assert np.allclose(times["first"] + times["step"] * np.arange(times["count"]), t)
PY
}

@test "the HMS recipe: its golden numbers, and dead channels are marked" {
  python <<'PY'
from arrays import *
t = np.arange(10000) / 200
x = 30 * np.sin(2 * np.pi * 3 * t) + 10 * np.sin(2 * np.pi * 11 * t + .5) + .02 * t
chains = ("Fp1 F7 T3 T5 O1", "Fp1 F3 C3 P3 O1", "Fp2 F4 C4 P4 O2", "Fp2 F8 T4 T6 O2")
signals = {name: -i * x for chain in chains for i, name in enumerate(chain.split())}
names = list(signals)
np.save("x.npy", np.stack([signals[n] for n in names]))
tool("x.npy", "-o", "out", "--rate-in", 200, "--channel-names", ",".join(names), "--preset", "hms")
y, about = read("out/x")
assert y.shape == (4, 128, 256), y.shape
assert [c["name"] for c in about["channels"]] == ["LL", "LP", "RP", "RL"]
for chain in y:
    assert abs(chain.mean(dtype=float) - .26406865038) < 2e-6
    assert abs(chain[19, 128] - .991548250218) < 2e-6 and abs(chain[70, 128] - .739241082735) < 2e-6
for name in "Fp1 F7 T3 T5 O1".split():
    signals[name] = signals[name] * 0
np.save("x.npy", np.stack([signals[n] for n in names]))
tool("x.npy", "-o", "out", "--rate-in", 200, "--channel-names", ",".join(names), "--preset", "hms")
y, about = read("out/x")
assert (y[0] == -1).all() and y[2].max() > .9
assert "dead" in json.dumps(about["channels"][0]) + json.dumps(about.get("warnings")), about
PY
}

@test "electrodes come out in one order under one name, however files spell them" {
  prep-spectrogram --quiet "$EEG" -o out --channels 10-20
  names=$(spec out/p1/a.spec.json '[c["name"] for c in s["channels"][:19]]')
  [ "$names" = "['Fp1', 'F3', 'C3', 'P3', 'F7', 'T3', 'T5', 'O1', 'Fz', 'Cz', 'Pz', 'Fp2', 'F4', 'C4', 'P4', 'F8', 'T4', 'T6', 'O2']" ]
  [ "$(spec out/p2/a.spec.json '[c["name"] for c in s["channels"][:19]]')" = "$names" ]
  [ "$(spec out/p3/a_0000.spec.json '[c["name"] for c in s["channels"][:19]]')" = "$names" ]
  # By other names, and in another order; a list from a file.
  printf 'T7\nfp2\n' > list
  prep-spectrogram --quiet "$EEG" -o few --channels @list
  python <<'PY'
from arrays import *
for name in ("p1/a", "p2/a", "p3/a_0000"):
    whole, about = read("out/" + name)
    few, _ = read("few/" + name)
    order = [c["name"] for c in about["channels"]]
    assert (few[0] == whole[order.index("T3")]).all()
    assert (few[1] == whole[order.index("Fp2")]).all()
PY
}

@test "a channel that is missing: an error that lists what is there, zeros, NaN, or left out" {
  run prep-spectrogram "$EEG/p2" -o out --channels Fp1,A1
  [ "$status" -eq 3 ]
  [[ "$output" == *"p2/a.edf: "*"A1"*"O2"* ]]
  for policy in zero nan skip; do
    prep-spectrogram --quiet "$EEG/p2" -o $policy --channels Fp1,A1,O2 --missing $policy
  done
  python <<'PY'
from arrays import *
zero, nan, skip = (read(p + "/a") for p in ("zero", "nan", "skip"))
assert skip[0].shape[0] == 2 and zero[0].shape[0] == 3
assert (zero[0][1] == 0).all() and np.isnan(nan[0][1]).all()
assert (zero[0][[0, 2]] == skip[0]).all() and (nan[0][[0, 2]] == skip[0]).all()
assert nan[1]["channels"][1]["name"] == "A1" and nan[1]["channels"][1]["missing"] is True
PY
}

@test "montages: differences of electrodes, the average, and the double banana" {
  prep-spectrogram --quiet "$EEG/p2" -o all --channels 10-20 --missing skip --mode complex --detrend none
  for montage in bipolar:Fp1-F7,O2-Cz average double-banana; do
    prep-spectrogram --quiet "$EEG/p2" -o ${montage%:*} --channels 10-20 --missing skip \
      --montage $montage --mode complex --detrend none
  done
  python <<'PY'
from arrays import *
z, about = read("all/a")
row = {c["name"]: z[i] for i, c in enumerate(about["channels"])}
pairs, about = read("bipolar/a")
assert [c["name"] for c in about["channels"]] == ["Fp1-F7", "O2-Cz"]
close(pairs, np.stack([row["Fp1"] - row["F7"], row["O2"] - row["Cz"]]), 1e-5)
average, _ = read("average/a")
eeg = [n for n in row if n != "EKG"]
close(average[:19], z[:19] - np.mean([row[n] for n in eeg], axis=0), 1e-5)
banana, about = read("double-banana/a")
assert banana.shape[0] == 16, banana.shape
assert about["channels"][0]["name"] == "Fp1-F7"
close(banana[:1], (row["Fp1"] - row["F7"])[None], 1e-5)
PY
}

@test "a gap: two segments with true times, or NaN between; never glued" {
  prep-spectrogram --quiet "$EEG/p3" -o split --nperseg 256 --hop 128
  [ "$(find split -name '*.npy' | wc -l)" -eq 2 ]
  prep-spectrogram --quiet "$EEG/p3" -o nan --gaps nan --nperseg 256 --hop 128
  python <<'PY'
from arrays import *
first, a = read("split/a_0000")
second, b = read("split/a_0001")
whole, about = read("nan/a")
assert (a["times"]["first"], b["times"]["first"]) == (.5, 40.5), (a["times"], b["times"])
assert whole.shape[2] == 60 * 2 - 1
n = first.shape[2]
assert (whole[:, :, :n] == first).all() and (whole[:, :, -n:] == second).all()
assert np.isnan(whole[:, :, n:-n]).all()
frames = about["channels"][0]["nan_frames"]
assert frames == [[n, whole.shape[2] - n]], frames
PY
}

@test "epochs of fixed length, with their labels; around events" {
  prep-spectrogram --quiet "$EEG" -o out --epoch 10
  [ "$(find out/p1 -name 'a_*.npy' | wc -l)" -eq 4 ]
  for i in 0 1 2 3; do cmp "out/p1/b_000$i.cls" "$EEG/p1/b.cls"; done
  prep-spectrogram --quiet "$EEG/p2" -o stride --epoch 10 --stride 5
  [ "$(find stride -name '*.npy' | wc -l)" -eq 7 ]
  [ "$(spec stride/a_0003.spec.json 's["times"]["first"]')" = 15.5 ]
  prep-spectrogram --quiet "$EEG/p2" -o events --events '^seiz' --epoch 4
  [ "$(find events -name '*.npy' | wc -l)" -eq 1 ]
  [ "$(spec events/a_0000.spec.json 's["times"]["first"], s["epoch"]["event"]["text"]')" = "9.0 seizure" ]
  # As long as the annotation says.
  prep-spectrogram --quiet "$EEG/p2" -o whole --events seizure
  [ "$(spec whole/a_0000.spec.json 's["times"]["first"], s["times"]["count"]')" = "11.0 17" ]
  run prep-spectrogram "$EEG/p2" -o none --events nothing-like-this
  [ "$status" -eq 0 ]
  [[ "$output" == *"1 skipped"*"no event matches"* ]]
}

@test "statistics of a data set, and arrays normalised by them" {
  prep-spectrogram --quiet "$EEG/p1" --log db --stats stats.json
  prep-spectrogram --quiet "$EEG/p1" -o out --log db --normalize stats.json
  prep-spectrogram --quiet "$EEG/p1" -o plain --log db
  prep-spectrogram --quiet "$EEG/p1" --log db --stats again.json -j3
  cmp stats.json again.json
  python <<'PY'
from arrays import *
names = ("p1/a", "p1/b") if glob.glob("out/p1/*") else ("a", "b")
plain = np.concatenate([read("plain/" + n)[0] for n in names], axis=2).astype(float)
done = np.concatenate([read("out/" + n)[0] for n in names], axis=2).astype(float)
assert np.abs(done.mean(2)).max() < 1e-5 and np.abs(done.std(2) - 1).max() < 1e-4
mean, deviation = plain.mean(2, keepdims=True), plain.std(2, keepdims=True)
close(done, (plain - mean) / deviation, 1e-5)
PY
  # Statistics of other settings are refused.
  run prep-spectrogram "$EEG/p1" -o other --log db --nperseg 128 --normalize stats.json
  [ "$status" -eq 2 ]
  [ ! -e other ]
}

@test "NaN spoils the frames that it touches, which are named" {
  python <<'PY'
from arrays import *
x = np.random.default_rng(3).normal(0, 10, (2, 1000))
np.save("x.npy", x)
tool("x.npy", "-o", "whole", "--rate-in", 100, "--nperseg", 100, "--hop", 50)
whole, _ = read("whole/x")
x[1, 420] = np.nan
x[1, 777] = np.inf
np.save("x.npy", x)
done = subprocess.run(["prep-spectrogram", "x.npy", "-o", "out", "--rate-in", "100", "--nperseg",
                       "100", "--hop", "50", "--unit", "uV"], capture_output=True, text=True)
assert done.returncode == 0 and "x.npy: has frames of NaN" in done.stderr, done
p, about = read("out/x")
assert "nan_frames" not in about["channels"][0]
assert about["channels"][1]["nan_frames"] == [[7, 9], [14, 16]], about["channels"][1]
touched = np.zeros(19, bool)
touched[[7, 8, 14, 15]] = True
assert (np.isnan(p[1]) == touched).all() and (p[0] == whole[0]).all()
assert (p[1][:, ~touched] == whole[1][:, ~touched]).all()
PY
}

@test "element types and the order of the axes" {
  prep-spectrogram --quiet "$EEG/p1" -o f32 --log db
  prep-spectrogram --quiet "$EEG/p1" -o f16 --log db --dtype float16 --layout FTC
  prep-spectrogram --quiet "$EEG/p1" -o u8 --log db --dtype uint8:-40:60 --layout CTF
  python <<'PY'
from arrays import *
full, about = read("f32/a")
half, h = read("f16/a")
byte, b = read("u8/a")
assert (full.dtype, half.dtype, byte.dtype) == ("<f4", "<f2", "|u1")
assert full.flags.c_contiguous and half.shape == (129, 157, 20) and byte.shape == (20, 157, 129)
assert (half.transpose(2, 0, 1) == full.astype("<f2")).all()
wanted = np.clip((full.astype(float) + 40) / 100 * 255, 0, 255)
assert np.abs(byte.transpose(0, 2, 1) - wanted).max() <= .51
assert about["array"]["layout"] == "CFT" and h["array"]["layout"] == "FTC"
PY
}

@test "resampled, filtered, in bands and mels" {
  prep-spectrogram --quiet "$EEG/p1" -o low --rate 128 --lowpass 30 --nperseg 128 --hop 64
  [ "$(spec low/a.spec.json 's["rate"], s["frequencies"][-1]')" = "128.0 64.0" ]
  prep-spectrogram --quiet "$EEG/p1" -o plain --nperseg 256 --hop 128
  prep-spectrogram --quiet "$EEG/p1" -o notch --notch 50 --nperseg 256 --hop 128
  prep-spectrogram --quiet "$EEG/p1" -o bands --bands delta,alpha,20-40 --nperseg 256 --hop 128
  prep-spectrogram --quiet "$EEG/p1" -o mels --mel 16 --fmax 40
  python <<'PY'
from arrays import *
plain, about = read("plain/a")
low, _ = read("low/a")
# Below the filter's edge nothing has changed, above it nothing is left.
assert np.allclose(low[:, 2:20].mean(2), plain[:, 2:20].mean(2), rtol=.05)
assert low[:, 45:60].mean() < 1e-3 * plain[:, 45:60].mean()
notch, _ = read("notch/a")
assert notch[:, 50].mean() < .5 * plain[:, 50].mean()
assert np.allclose(notch[:, 10:40].mean(2), plain[:, 10:40].mean(2), rtol=.05)
bands, b = read("bands/a")
f = np.array(about["frequencies"])
alpha = plain[:, (f >= 8) & (f < 13)].mean(1)
close(bands[:, 1], alpha, 1e-5)
assert bands.shape[1] == 3 and b["frequencies"] == [2.25, 10.5, 30], b["frequencies"]
assert read("mels/a")[0].shape[1] == 16
PY
}

@test "pipes, tars, shards and TFRecords; the same bytes at any -j; again: nothing to do" {
  prep-spectrogram --quiet "$EEG" -o one -j1
  prep-spectrogram --quiet "$EEG" -o four -j4
  diff <(digest one) <(digest four)
  run prep-spectrogram "$EEG" -o one
  [[ "$output" == *" 0 written + 5 skipped"* ]]
  tar -C "$EEG" -cf eeg.tar .
  prep-spectrogram --quiet - -o - < eeg.tar | prep-pack --quiet - -o back/
  diff <(digest one) <(digest back)
  prep-spectrogram --quiet "$EEG" -o 's/%03d.tar'
  prep-verify --quiet --decode s
  prep-spectrogram --quiet "$EEG" -o 'r/%03d.tfrecord'
  prep-verify --quiet --decode r
  prep-spectrogram --quiet "$EEG" -o - | head -c 1000 > /dev/null || true
}

@test "divided otherwise in the same directory: nothing stays of the arrays before" {
  prep-spectrogram --quiet "$EEG" -o out --epoch 5 --preview
  rm out/p1/a_0003.*  # as after a run that was killed, or did one task of several
  for words in "--epoch 10" "" "--epoch 20 --stride 10" "--gaps nan"; do
    prep-spectrogram --quiet "$EEG" -o out $words
    rm -rf fresh
    prep-spectrogram --quiet "$EEG" -o fresh $words
    diff <(digest fresh) <(digest out)
  done
  # A recording that has become shorter, and one that is none any more.
  cp -r "$EEG" eeg
  prep-spectrogram --quiet eeg -o out2 --epoch 10
  head -c 300000 "$EEG/p1/a.edf" > eeg/p1/a.edf
  prep-spectrogram --quiet eeg -o out2 --epoch 10
  [ "$(find out2/p1 -name 'a_*.npy' | wc -l)" -eq 2 ]
  [ "$(find out2/p1 -name 'b_*.npy' | wc -l)" -eq 4 ]
  # A dry run takes nothing away.
  prep-spectrogram --quiet eeg -o out2 --epoch 20 -n
  [ "$(find out2/p1 -name 'b_*.npy' | wc -l)" -eq 4 ]
}

@test "a recording whose own name ends like an epoch's is left alone" {
  mkdir eeg
  cp "$EEG/p1/a.edf" eeg/a.edf
  cp "$EEG/p1/b.edf" eeg/a_0000.edf
  prep-spectrogram --quiet eeg -o out
  prep-spectrogram --quiet eeg -o out
  prep-spectrogram --quiet eeg -o out --hop 128
  [ "$(find out -name '*.npy' | wc -l)" -eq 2 ]
}

@test "killed at any time, then again" {
  prep-spectrogram --quiet "$EEG" -o ref --epoch 5
  for i in $(seq 10); do
    prep-spectrogram --quiet "$EEG" -o out --epoch 5 &
    sleep 0.00$((RANDOM % 10))
    kill -9 $! || true
    wait $! || true
  done 2> /dev/null
  prep-spectrogram --quiet "$EEG" -o out --epoch 5
  diff <(digest ref) <(digest out)
  [ -z "$(temporaries out)" ]
}

@test "a preview is a picture with something on it" {
  prep-spectrogram --quiet "$EEG/p1" -o out --log db --preview
  python <<'PY'
from PIL import Image
import numpy as np
picture = np.asarray(Image.open("out/a.png").convert("RGB"))
assert picture.shape[0] > 300 and picture.shape[1] > 300, picture.shape
assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100
PY
}

@test "faulty recordings: the reason by name, everything that can be saved is" {
  /usr/bin/python3 "$PREP_SOURCE/tests/data/make_recordings.py" in
  rm -f in/*.expected
  mv in/expected.json .
  python <<'PY'
import json, os, subprocess
entries = [e for e in json.load(open("expected.json")) if not e.get("options")]
edf = [e for e in entries if e["files"][0].lower().endswith((".edf", ".bdf"))]
assert len(edf) > 50, len(edf)
for entry in edf:
    name = entry["files"][0]
    done = subprocess.run(["prep-spectrogram", "in/" + name, "-o", "out", "--nperseg", "2", "--hop",
                           "2", "--gaps", "nan", "--force"], capture_output=True, text=True)
    if "channels" not in entry:
        assert done.returncode == 3, (name, done)
        assert f"in/{name}: " in done.stderr, (name, done.stderr)
    elif len({c["rate"] for c in entry["channels"]}) > 1:
        assert done.returncode == 3 and "--rate" in done.stderr, (name, done.stderr)
    elif done.returncode == 0:
        for warning in entry["warnings"]:
            assert warning in done.stderr, (name, warning, done.stderr)
        key = os.path.splitext(name)[0]
        spec = json.load(open(f"out/{key}.spec.json"))
        # Triggers are no signal.
        names = [c["name"] for c in entry["channels"] if c["name"] != "Status"]
        assert [c["name"] for c in spec["channels"]] == names, name
    else:
        # Refused for what the settings of this test ask for, by name.
        assert f"in/{name}: " in done.stderr and done.returncode == 3, (name, done)
        print(name, done.stderr)
PY
}

@test "settings that do not go together are wrong usage, before anything is made" {
  for words in '--nperseg 0' '--hop 0' '--window nosuch' '--mode complex --log db' \
    '--fmin 50 --fmax 40' '--mel 10 --bands alpha' '--dtype uint8 --mode complex' \
    '--stride 5' '--events (' '--epoch -1' '--layout CCC' '--normalize nowhere.json' \
    '--nfft 8 --nperseg 16' '--channels @nowhere'; do
    run prep-spectrogram "$EEG" -o out $words
    [ "$status" -eq 2 ] || [[ "$status" -eq 1 && "$output" == *nowhere* ]] || { echo "$words: $status: $output"; false; }
    [ ! -e out ]
  done
  run prep-spectrogram "$EEG/p1/a.edf" -o a.npy  # which would become a directory of that name
  [ "$status" -eq 2 ]
  [ ! -e a.npy ]
}
