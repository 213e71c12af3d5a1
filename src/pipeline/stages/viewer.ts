import { FUNCTION, integer } from "../../core/checks.ts";
import type { OpenCVContext, OpenCVTensor } from "../../opencv/mod.ts";
import { checks, type Run, Sink } from "../stage.ts";
import { contextIn } from "./given.ts";

/** Options of {@link viewer}. */
export interface ViewerOptions {
  /** The port; any free one if left out. */
  readonly port?: number;
  /** Called once with the page's address; printed if left out. */
  readonly listening?: (url: string) => void;
  /** 0 to 100: the quality of the pictures; 80 if left out. */
  readonly quality?: number;
}

const NAMES = { port: integer(0, 65_535), listening: FUNCTION, quality: integer(0, 100) };
const BOUNDARY = "samepage-frame";
const HOST = "127.0.0.1";
const encoder = new TextEncoder();
const BEGIN = encoder.encode(`--${BOUNDARY}\r\n`);
const END = encoder.encode(`\r\n--${BOUNDARY}\r\n`);

/**
 * A sink that shows its frames and live figures on a web page of this machine (127.0.0.1). OpenCV encodes them as JPEG,
 * but only while a browser has the page open. A slow browser misses frames, and holds up nothing.
 *
 * @throws {ArgumentError} for anything but an OpenCVContext, and for a port or a quality out of range.
 */
export function viewer(cv: OpenCVContext, options: ViewerOptions = {}): Sink<OpenCVTensor> {
  const usual = (url: string) => console.log(`viewer: ${url}`);
  const { port = 0, quality = 80, listening = usual } = checks.optionsIn(options, NAMES);
  contextIn(cv, "opencv", "cv");
  let page: Page | undefined;
  return new Sink<OpenCVTensor>({
    name: "viewer",
    takes: { memory: cv.mat, format: ["GRAY8", "BGR", "BGRA"] },
    write: (frame, run) => {
      page ??= new Page(port, listening, run);
      if (page.isWatched) page.show(cv.imencode(".jpg", frame.planes[0], { jpegQuality: quality }));
    },
    close: () => page?.end(),
    abort: () => page?.end(),
  });
}

/** The web page, and the browsers that have it open. */
class Page {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #lookers = new Set<(jpeg: Uint8Array | undefined) => void>();

  constructor(port: number, listening: (url: string) => void, run: Run) {
    const onListen = ({ port }: Deno.NetAddr) => listening(`http://${HOST}:${port}/`);
    this.#server = Deno.serve({ hostname: HOST, port, onListen }, (request) => {
      const { pathname, hostname } = new URL(request.url);
      // Keeps out pages of other sites whose name resolves to this address (DNS rebinding).
      if (hostname !== HOST && hostname !== "localhost") return new Response("Not here.", { status: 403 });
      if (pathname === "/") return new Response(HTML, { headers: { "content-type": "text/html; charset=utf-8" } });
      if (pathname === "/figures") return new Response(`${run.figures}`);
      if (pathname === "/stream") return this.#stream();
      return new Response("Not found.", { status: 404 });
    });
  }

  get isWatched(): boolean {
    return this.#lookers.size > 0;
  }

  show(jpeg: Uint8Array): void {
    for (const look of this.#lookers) look(jpeg);
  }

  async end(): Promise<void> {
    for (const look of this.#lookers) look(undefined);
    await this.#server.shutdown();
  }

  #stream(): Response {
    let look: (jpeg: Uint8Array | undefined) => void;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        look = (jpeg) => {
          if (jpeg === undefined) return this.#close(look, () => controller.close());
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(part(jpeg));
        };
        controller.enqueue(BEGIN);
        this.#lookers.add(look);
      },
      cancel: () => this.#close(look, () => {}),
    }, { highWaterMark: 2 });
    return new Response(body, {
      headers: { "content-type": `multipart/x-mixed-replace; boundary=${BOUNDARY}`, "cache-control": "no-store" },
    });
  }

  #close(look: (jpeg: Uint8Array | undefined) => void, action: () => void): void {
    if (this.#lookers.delete(look)) action();
  }
}

/** A picture as a part of the response, with the next boundary: browsers show a part only once its boundary has come. */
function part(jpeg: Uint8Array): Uint8Array {
  const head = encoder.encode(`Content-Type: image/jpeg\r\nContent-Length: ${jpeg.byteLength}\r\n\r\n`);
  const whole = new Uint8Array(head.length + jpeg.length + END.length);
  whole.set(head);
  whole.set(jpeg, head.length);
  whole.set(END, head.length + jpeg.length);
  return whole;
}

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>samepage</title>
<style>
  body { font: 14px system-ui, sans-serif; margin: 1rem; background: Canvas; color: CanvasText; color-scheme: light dark }
  img { max-width: 100%; background: #8884 }
  pre { overflow: auto }
</style>
<img id="frames" src="/stream" alt="What the pipeline shows">
<pre id="figures"></pre>
<script>
  async function refresh() {
    try {
      const response = await fetch("/figures");
      document.getElementById("figures").textContent = await response.text();
      setTimeout(refresh, 500);
    } catch {
      document.getElementById("figures").textContent += "\\nThe pipeline has ended.";
    }
  }
  refresh();
</script>
</html>
`;
