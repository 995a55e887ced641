"""The small jobs of the fault suite: what each tool is run on."""

import dataclasses
import os
import subprocess


@dataclasses.dataclass
class Job:
    name: str
    command: list
    # Run once, undisturbed, in the directory that each run gets a copy of: outputs of before.
    before: list = dataclasses.field(default_factory=list)
    # The exit code of an undisturbed run: prep-verify finds what is there to be found.
    good_exit: int = 0
    # Final files that must be whole, old or new, at any time (others may be gone).
    always_there: tuple = ()
    # A file that says that the set of all files is complete, as long as there is no `unless`.
    seal: str = ""
    unless: str = ""
    # What an undisturbed run writes to standard output is a tar, whose end must be missing where
    # the run has failed.
    is_tar_stream: bool = False
    stdin: str = ""
    # What must go before the tool can be run again, because it wants a place of its own.
    removed_before_rerun: tuple = ()
    # What it cannot read is lost, and said to be: that is its work.
    salvages: bool = False
    # Findings go to standard output.
    prints_findings: bool = False
    # What it prints holds times, and no two runs print the same.
    measures: bool = False
    # Left out where only some calls are to fail: OpenCV's codecs take long to load.
    starts_slowly: bool = False


def make_inputs(directory, tools):
    """Everything that the jobs read, below `directory`."""
    _make_photos(os.path.join(directory, "photos"))
    _make_recordings(os.path.join(directory, "eeg"))
    tar = ["tar", "--sort=name", "--mtime=@1600000000", "--owner=0", "--group=0", "--numeric-owner"]
    for words in (tar + ["-cf", "photos.tar", "-C", "photos", "."],
                  tar + ["-czf", "photos.tar.gz", "-C", "photos", "."],
                  [tools + "/prep-pack", "-q", "photos", "-o", "set/%06d.tar", "--shards", "2",
                   "--labels", "dir", "--index", "dali,wids,energon"],
                  [tools + "/prep-pack", "-q", "photos", "-o", "records/t.tfrecord-%05d-of-%05d",
                   "--shards", "2", "--labels", "dir"]):
        subprocess.run(words, cwd=directory, check=True)
    _damage(os.path.join(directory, "photos.tar"), os.path.join(directory, "damaged.tar"))


def _make_photos(directory):
    from PIL import Image
    for i, name in enumerate(("a/1", "a/2", "b/3", "b/4", "b/5")):
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        size = (112 + 8 * i, 96)
        picture = Image.merge("RGB", [Image.radial_gradient("L").resize(size),
                                      Image.linear_gradient("L").rotate(90 * i).resize(size),
                                      Image.new("L", size, 40 * i)])
        picture.save(path + ".jpg", quality=95)
        with open(path + ".txt", "w", encoding="ascii") as file:
            file.write(f"number {i}\n")
    for root, _, files in os.walk(directory):
        for name in files:
            os.utime(os.path.join(root, name), (1600000000, 1600000000))


def _make_recordings(directory):
    os.makedirs(directory)
    with open(os.path.join(directory, "s1.csv"), "w", encoding="ascii") as file:
        file.write("time,F3,F4\n")
        for i in range(600):
            file.write(f"{i / 100:.2f},{i * i % 37},{i * 7 % 41}\n")
    with open(os.path.join(directory, "s2.csv"), "w", encoding="ascii") as file:
        file.write("time,F3,F4\n")
        for i in range(500):
            file.write(f"{i / 100:.2f},{i * i % 31},{i * 5 % 43}\n")


def _damage(source, target):
    """A tar in which one member's header is overwritten."""
    with open(source, "rb") as file:
        data = bytearray(file.read())
    at = data.index(b"./b/3.jpg")
    data[at:at + 512] = b"?" * 512
    with open(target, "wb") as file:
        file.write(data)


def all_jobs(tools):
    def tool(name, *words):
        return [f"{tools}/prep-{name}", *words]

    resize = ("resize", "in/photos", "--short", "32")
    stamp = {"seal": "out/.prep-resize.json", "unless": "out/.prep-resize.partial"}
    pack = ("pack", "in/photos", "--shards", "2", "--labels", "dir", "-j1")
    tars = ("-o", "out/%06d.tar", "--index", "dali,wids,energon")
    pack_set = {"seal": "out/manifest.json"}
    return [
        Job("resize dir", tool(*resize, "-o", "out", "-j1"), **stamp),
        Job("resize dir -j2", tool(*resize, "-o", "out", "-j2"), **stamp),
        Job("resize dir again",
            tool(*resize, "-o", "out", "-j1", "--errors", "bad.jsonl", "--report", "report.json"),
            before=[tool("resize", "in/photos", "--short", "48", "-o", "out")], **stamp),
        Job("resize tar", tool(*resize, "-o", "out.tar.zst", "-j1"),
            before=[tool("resize", "in/photos", "--short", "48", "-o", "out.tar.zst")],
            always_there=("out.tar.zst",)),
        Job("resize stream", tool("resize", "in/photos.tar.gz", "--short", "32", "-o", "-", "-j1"),
            is_tar_stream=True),
        # Its own output of before lies among the inputs.
        Job("resize own tar", tool("resize", "raw", "--short", "16", "-o", "raw/small.tar", "-j1"),
            before=[tool("resize", "in/photos", "--short", "48", "-o", "raw"),
                    tool("resize", "raw", "--short", "32", "-o", "raw/small.tar")],
            always_there=("raw/small.tar",)),
        Job("recompress dir", tool("recompress", "in/photos", "-o", "out", "-j1"),
            seal="out/.prep-recompress.json", unless="out/.prep-recompress.partial"),
        Job("recompress pipe", tool("recompress", "-", "-o", "-", "-j1", "--progressive"),
            stdin="in/photos.tar", is_tar_stream=True),
        Job("pack tars", tool(*pack, *tars, "--shuffle", "1"), **pack_set),
        Job("pack tars again", tool(*pack, *tars, "--shuffle", "1"),
            before=[tool(*pack, *tars, "--shuffle", "2")], **pack_set),
        Job("pack records", tool(*pack, "-o", "out/t.tfrecord-%05d-of-%05d"), **pack_set),
        Job("pack stream",
            tool("pack", "in/photos.tar.gz", "-o", "out/%06d.tar", "--max-count", "3", "-j1"),
            before=[tool("pack", "in/photos.tar.gz", "-o", "out/%06d.tar", "--max-count", "2")],
            **pack_set),
        Job("pack merge", tool("pack", "--merge", "out"),
            before=[tool(*pack, *tars, "--task", f"{i}/2") for i in (0, 1)], **pack_set),
        Job("verify set", tool("verify", "--decode", "in/set", "-j1", "--report", "report.json"),
            prints_findings=True),
        Job("verify records", tool("verify", "in/records", "-j1", "--json"), prints_findings=True),
        Job("verify repair", tool("verify", "in/damaged.tar", "--repair", "out", "-j1"),
            good_exit=3, removed_before_rerun=("out",), salvages=True, prints_findings=True),
        Job("ls", tool("ls", "in/photos", "--json", "-j1")),
        Job("ls tar", tool("ls", "in/photos.tar.gz", "-j1")),
        Job("spectrogram", tool("spectrogram", "in/eeg", "-o", "out", "-j1", "--log", "db"),
            seal="out/.prep-spectrogram.json", unless="out/.prep-spectrogram.partial"),
        Job("inspect", tool("inspect", "in/photos", "--samples", "3", "-j1", "--json", "found.json",
                            "--html", "found.html"), measures=True),
        Job("inspect eeg", tool("inspect", "in/eeg", "-j1", "--json", "found.json"), measures=True),
        Job("bench decode", tool("bench", "decode", "in/photos", "--samples", "3", "--runs", "1",
                                 "--warmup", "0", "--decoders", "rgb,imdecode", "--json", "found.json"),
            measures=True, starts_slowly=True),
        Job("bench read", tool("bench", "read", "in/photos", "in/photos.tar", "--samples", "3",
                               "--runs", "1", "--warmup", "0", "--json", "found.json"),
            measures=True, starts_slowly=True),
        Job("bench feed", tool("bench", "feed", "in/photos", "--workers", "1", "--seconds", "0.1",
                               "--batch", "2", "--json", "found.json"), measures=True, starts_slowly=True),
        Job("spectrogram stats", tool("spectrogram", "in/eeg", "--stats", "stats.json", "-j1")),
    ]
