import { announce, capture } from "./capture.ts";

/** Where the wheels are unpacked: git does not see it, and no package holds it. */
const FOLDER = new URL("../../.cuda", import.meta.url).pathname;

/** Written last: which wheels lie there, whole. */
const STAMP = `${FOLDER}/wheels.txt`;

/** NVIDIA's own wheels, as they are on PyPI: no toolkit is needed, and no GPU. */
const WHEELS = [
  { name: "nvidia-cuda-runtime", version: "13.0.96", why: "CUDA's C headers, and libcudart.so.13" },
  { name: "nvidia-cuda-crt", version: "13.0.88", why: "what those headers include" },
  { name: "nvidia-cuda-nvrtc", version: "13.0.88", why: "CUDA's compiler: nvrtc.h and libnvrtc.so.13" },
  { name: "nvidia-cuda-runtime-cu12", version: "12.0.146", why: "the oldest libcudart.so.12, and its headers" },
];

const PINNED = WHEELS.map(({ name, version }) => `${name}==${version}`);

/** Whether the wheels of these versions are unpacked. */
export async function hasCuda(): Promise<boolean> {
  return await Deno.readTextFile(STAMP).catch(() => "") === PINNED.join("\n");
}

/** Whether there is a pip to download them. */
export async function hasPip(): Promise<boolean> {
  return (await capture("python3", ["-m", "pip", "--version"]))?.success === true;
}

/** Downloads the wheels and unpacks them, and returns why it could not. */
export async function unpackCuda(title: string): Promise<string | undefined> {
  announce(
    `${title}, through pip, into ${FOLDER} (no Python package is installed)`,
    WHEELS.map(({ why }, i) => ({ name: PINNED[i], why })),
  );
  const wheels = await Deno.makeTempDir({ prefix: "samepage-wheels-" });
  try {
    const options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--dest", wheels];
    const download = await capture("python3", ["-m", "pip", "download", ...options, ...PINNED]);
    if (!download?.success) return `pip download failed:\n${download?.text.trimEnd() ?? "there is no python3"}`;
    await Deno.remove(FOLDER, { recursive: true }).catch(ignoreNotFound); // what another version has left
    for await (const { name } of Deno.readDir(wheels)) {
      const unpack = await capture("python3", ["-m", "zipfile", "-e", `${wheels}/${name}`, FOLDER]);
      if (!unpack?.success) return `${name} could not be unpacked:\n${unpack?.text.trimEnd()}`;
    }
    await Deno.writeTextFile(STAMP, PINNED.join("\n"));
    return undefined;
  } finally {
    await Deno.remove(wheels, { recursive: true });
  }
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
