import type { Transport } from "@connectrpc/connect";
import type { Tool } from "../../application/tool-ports.ts";
import { bashTool } from "./bash.ts";
import { bashOutputTool } from "./bash-output.ts";
import type { CodeLanguages } from "./code-languages.ts";
import { editFileTool } from "./edit-file.ts";
import { globTool, listDirectoryTool } from "./file-listing.ts";
import { grepTool } from "./grep.ts";
import { killBashTool } from "./kill-bash.ts";
import { readFileTool } from "./read-file.ts";
import { readSpillTool } from "./read-spill.ts";
import { runCodeTool } from "./run-code.ts";
import { searchDocumentsTool } from "./search-documents.ts";
import { writeFileTool } from "./write-file.ts";

/** The tools that every task has, in the order in which the model is told of them. */
export function standardTools(peers: {
  readonly sandbox: Transport;
  readonly rag: Transport;
  readonly memory: Transport;
  /** What run_code offers. */
  readonly languages: CodeLanguages;
  /** How long run_code and bash wait for a sandbox that does not answer, ms. */
  readonly patienceMs: number;
}): readonly Tool[] {
  return [
    runCodeTool(peers.sandbox, peers.languages, peers.patienceMs),
    readSpillTool(peers.memory),
    searchDocumentsTool(peers.rag),
    readFileTool(peers.sandbox),
    writeFileTool(peers.sandbox),
    listDirectoryTool(peers.sandbox),
    grepTool(peers.sandbox),
    globTool(peers.sandbox),
    editFileTool(peers.sandbox),
    bashTool(peers.sandbox, peers.patienceMs),
    bashOutputTool(peers.sandbox),
    killBashTool(peers.sandbox),
  ];
}
