import type { Language } from "./language.ts";

/** Variables that every program finds. */
export const baseEnvironment = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/tmp",
  LANG: "C.UTF-8",
  TMPDIR: "/tmp",
} as const;
const base = baseEnvironment;

/** Node sizes its heap by the host's memory. */
const nodeHeap = "--max-old-space-size={heap}";

/** The languages that come with the service, in the order they are listed. */
export const languages: readonly Language[] = [
  {
    name: "python",
    title: "Python 3.13",
    mainFile: "main.py",
    command: ["/usr/bin/python3", "-B", "{program}"],
    environment: { ...base, PYTHONUNBUFFERED: "1", PYTHON_CPU_COUNT: "{cpus}" },
  },
  {
    name: "javascript",
    title: "JavaScript (Node.js 20)",
    mainFile: "main.js",
    command: ["/usr/bin/node", nodeHeap, "{program}"],
    environment: base,
  },
  {
    name: "typescript",
    title: "TypeScript (esbuild, Node.js 20)",
    mainFile: "main.ts",
    // Types are stripped, not checked; the banner gives modules the `require` that they may still call.
    compile: [
      "/usr/bin/esbuild",
      "{program}",
      "--bundle",
      "--platform=node",
      "--target=node20",
      "--format=esm",
      "--packages=external",
      "--sourcemap=inline",
      "--log-level=warning",
      '--banner:js=import{createRequire as _require}from"node:module";const require=_require(import.meta.url);',
      "--outfile={build}/program.mjs",
    ],
    command: ["/usr/bin/node", nodeHeap, "--enable-source-maps", "{build}/program.mjs"],
    environment: base,
  },
  {
    name: "bash",
    title: "Bash 5.2",
    mainFile: "main.sh",
    command: ["/usr/bin/bash", "{program}"],
    environment: base,
  },
  {
    name: "c",
    title: "C17 (GCC 14)",
    mainFile: "main.c",
    sources: [".c"],
    compile: ["/usr/bin/gcc", "-std=gnu17", "-O1", "-I{root}", "-o", "{build}/program", "{sources}", "-lm", "-pthread"],
    command: ["{build}/program"],
    environment: base,
  },
  {
    name: "cpp",
    title: "C++20 (GCC 14)",
    mainFile: "main.cpp",
    sources: [".cpp", ".cc", ".cxx"],
    compile: ["/usr/bin/g++", "-std=gnu++20", "-O1", "-I{root}", "-o", "{build}/program", "{sources}", "-pthread"],
    command: ["{build}/program"],
    environment: base,
  },
  {
    name: "go",
    title: "Go 1.24",
    mainFile: "main.go",
    sources: [".go"],
    ignoredSources: ["_test.go"],
    oneFolder: true,
    compile: ["/usr/bin/go", "build", "-ldflags=-s -w", "-o", "{build}/program", "{sources}"],
    command: ["{build}/program"],
    // The settings that the image's cache of the standard library was made with.
    environment: {
      ...base,
      GOCACHE: "/usr/lib/drover/go-cache",
      GOPATH: "/tmp/go",
      GOFLAGS: "-buildvcs=false",
      GOTOOLCHAIN: "local",
      GOPROXY: "off",
      CGO_ENABLED: "0",
      GOMAXPROCS: "{cpus}",
      GOMEMLIMIT: "{heap}MiB",
    },
  },
  {
    name: "rust",
    title: "Rust 1.85",
    mainFile: "main.rs",
    compile: ["/usr/bin/rustc", "--edition=2021", "-Copt-level=1", "-o", "{build}/program", "{program}"],
    command: ["{build}/program"],
    environment: base,
  },
  {
    name: "java",
    title: "Java 21",
    mainFile: "Main.java",
    fixedName: true,
    compile: [
      "/usr/bin/javac",
      "-J-XX:+UseSerialGC",
      "-J-XX:TieredStopAtLevel=1",
      "-J-XX:-UsePerfData",
      "-J-XX:SharedArchiveFile=/usr/lib/drover/javac.jsa",
      "-d",
      "{build}/classes",
      "-sourcepath",
      "{root}",
      "{program}",
    ],
    command: [
      "/usr/bin/java",
      "-XX:+UseSerialGC",
      "-XX:-UsePerfData",
      "-XX:MaxRAM={memory}",
      "-XX:MaxRAMPercentage=50",
      "-XX:ActiveProcessorCount={cpus}",
      "-cp",
      "{build}/classes:{root}",
      "Main",
    ],
    environment: base,
  },
];
