import { join } from "@std/path";
import { config, publishedFiles, ROOT } from "./project.ts";

/** A JSR registry on this machine with our package in it, and in no other version. */
export interface Registry extends AsyncDisposable {
  /** For Deno's JSR_URL. */
  readonly url: string;
  /** The paths that it was asked for. */
  readonly requests: readonly string[];
}

interface Answer {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly type: string;
}

const TYPES: Readonly<Record<string, string>> = { ts: "application/typescript", json: "application/json" };

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return `sha256-${new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex()}`;
}

/** Every path of the registry, as JSR lays a package out, with its answer. */
async function layOut(): Promise<Map<string, Answer>> {
  const { name, version, exports } = config;
  const [scope, short] = name.slice(1).split("/");
  const answers = new Map<string, Answer>();
  const json = (path: string, value: unknown) => answers.set(path, { body: JSON.stringify(value), type: TYPES.json });

  const manifest: Record<string, { size: number; checksum: string }> = {};
  for (const file of await publishedFiles()) {
    const body = await Deno.readFile(join(ROOT, file));
    manifest[`/${file}`] = { size: body.length, checksum: await sha256(body) };
    answers.set(`/${name}/${version}/${file}`, { body, type: TYPES[file.split(".").pop()!] ?? "text/plain" });
  }
  json(`/${name}/meta.json`, { scope, name: short, latest: version, versions: { [version]: {} } });
  json(`/${name}/${version}_meta.json`, { manifest, exports });
  return answers;
}

/** Serves exactly the files that `deno publish --dry-run` lists, on a free port. */
export async function serveRegistry(): Promise<Registry> {
  const answers = await layOut();
  const requests: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const path = decodeURI(new URL(request.url).pathname);
    requests.push(path);
    const answer = answers.get(path);
    if (!answer) return new Response("not found", { status: 404 });
    return new Response(answer.body, { headers: { "content-type": answer.type } });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
