
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
import { decode, encode, infer, kernel, outline, pipeline } from "@samepage/interop/pipeline";
import { detectionsIn } from "../src/pipeline/detector.ts";
import { OpenCLContext } from "@samepage/interop/opencl";
const device = () => ({ cl: OpenCLContext.open() });
const side = (x: string) => "bench/" + x; const BUILT = "out/bench/"; const EVERY = 10; const [ACROSS, DOWN] = [640, 352]; const FRAMES = 300;
const LIBRARY = Deno.env.get("SAMEPAGE_BENCH_ORT"), DETECTOR = Deno.env.get("SAMEPAGE_BENCH_MODEL")!;
const { cl } = device();
        const ffmpeg = FFmpegContext.open();
        const ort = OnnxRuntimeContext.open({ library: LIBRARY! });
        const session = ort.compileSync(DETECTOR, { threads: 2 });
        const [[input], [output]] = [session.inputs, session.outputs];
        const program = cl.program(Deno.readTextFileSync(side("pipeline.cl")));
        const [edges, prepare] = [program.kernel("edges"), program.kernel("prepare")];
        const one = async () => {
          let found = 0;
          const figures = await pipeline(
            decode(ffmpeg, Deno.env.get("SAMEPAGE_BENCH_CLIP")!),
            kernel(edges, { gives: (info) => info }),
            infer<any>(session, {
              memory: cl,
              every: EVERY,
              shapes: () => ({ [input.name]: [1, 3, DOWN, ACROSS] }),
              prepare: ({ planes: [luma] }, { [input.name]: to }) =>
                prepare.run({ items: [ACROSS, DOWN] }, [luma, luma.layout.strides[0], to, ACROSS, DOWN]),
              results({ [output.name]: map }, { metadata }) {
                for (const detection of detectionsIn(map)) {
                  metadata.add("detection", detection);
                  found++;
                }
              },
            }),
            outline(),
            encode(ffmpeg, `${BUILT}pipeline.mkv`, {
              codec: "libx264",
              frameRate: 25,
              options: { preset: "ultrafast" },
            }),
          ).run();
          if (figures.frames !== FRAMES || figures.bytesMoved > 0 || found === 0) {
            throw new Error(`${found}: ${figures}`);
          }
          if (Deno.env.has("SAMEPAGE_BENCH_FIGURES")) console.error(`${figures}`);
        };
        
const count = Number(Deno.args[0]); const t = performance.now(); const c0 = Deno.readTextFileSync("/proc/self/stat").split(" ");
for (let i = 0; i < count; i++) await one();
const c1 = Deno.readTextFileSync("/proc/self/stat").split(" ");
console.log("wall s", ((performance.now() - t)/1000).toFixed(2), "cpu s", (Number(c1[13])+Number(c1[14])-Number(c0[13])-Number(c0[14]))/100);
