import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createInProcessBus } from "@drover/bus";
import { mapBounded } from "@drover/kernel";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { startRag } from "@drover/rag/wiring";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import { startPostgres } from "@drover/testkit";
import { createBm25 } from "./bm25.ts";
import { percentile, print, type ResultRow, report, row, rowAgainst } from "./run.ts";

/** A public retrieval set: texts, and questions with the indexes of the texts that answer them. */
interface DataSet {
  readonly docs: readonly string[];
  readonly queries: readonly (readonly [question: string, relevant: readonly number[]])[];
}

const sets = [
  { name: "xquad_en", goal: ">= 0.95" },
  { name: "xquad_zh", goal: ">= 0.95" },
  { name: "dbpedia", goal: null },
] as const;
const maxQueries = 300;
const depth = 10;

const folder = process.env.BENCH_DATA;
if (folder === undefined) {
  print("Set BENCH_DATA to a folder with retrieval/{xquad_en,xquad_zh,dbpedia}.json, each");
  print("{docs: string[], queries: [question, relevant doc indexes][]}. The sources are XQuAD");
  print("(https://github.com/google-deepmind/xquad) and the BEIR set dbpedia-entity.");
  process.exit(1);
}

await using started = new AsyncDisposableStack();
const postgres = started.use(await startPostgres());
const keys = await generateIdentityKeys();
const bus = started.use(createInProcessBus());
const service = started.use(
  await startRag(
    {
      DATABASE_URL: postgres.url,
      DROVER_LISTEN: "127.0.0.1:0",
      DROVER_ADMIN_LISTEN: "127.0.0.1:0",
      DROVER_LOG_LEVEL: "warn",
      DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
      RAG_VECTOR_WEIGHT_PERCENT: process.env.RAG_VECTOR_WEIGHT_PERCENT,
    },
    { bus },
  ),
);
const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "bench" });
const transport = started.use(createRpcTransport({ addresses: service.address, audience: "rag", minter }));
const documents = createClient(DocumentService, transport);
const retrieval = createClient(RetrievalService, transport);
const scopes = ["documents:read", "documents:write"];
const options = { contextValues: actingAs({ tenant: "bench", subject: "bench", scopes }) };

const rows: ResultRow[] = [];
for (const { name, goal } of sets) rows.push(...(await measure(name, goal)));
report("retrieval", `nDCG@${depth} of Search over gRPC, first ${maxQueries} queries of each set`, rows);

async function measure(name: string, goal: string | null): Promise<ResultRow[]> {
  const set = JSON.parse(readFileSync(join(folder ?? "", "retrieval", `${name}.json`), "utf8")) as DataSet;
  const queries = set.queries.slice(0, maxQueries);
  const began = performance.now();
  await mapBounded(set.docs, 8, (text, index) => documents.uploadDocument(upload(name, index, text), options));
  const perSecond = set.docs.length / ((performance.now() - began) / 1000);
  print(`${name}: ${set.docs.length} documents indexed, ${perSecond.toFixed(0)}/s`);
  const bm25 = createBm25(set.docs);
  const ours: number[] = [];
  const peer: number[] = [];
  const milliseconds: number[] = [];
  for (const [query, relevant] of queries) {
    const asked = performance.now();
    const { passages } = await retrieval.search({ query: query.slice(0, 2000), collection: name, limit: 20 }, options);
    milliseconds.push(performance.now() - asked);
    const found = [...new Set(passages.map((passage) => Number.parseInt(passage.documentName, 10)))];
    ours.push(ndcg(found, relevant));
    peer.push(ndcg(bm25.search(query, depth), relevant));
  }
  const bm25Value = { name: "BM25 in memory", value: mean(peer), better: "more" } as const;
  return [
    row(`${name} nDCG@${depth}`, "", mean(ours), goal),
    rowAgainst(`${name} nDCG@${depth} against BM25`, "", mean(ours), bm25Value),
    row(`${name} search p50`, "ms", percentile(milliseconds, 0.5)),
    row(`${name} search p99`, "ms", percentile(milliseconds, 0.99)),
    row(`${name} documents indexed`, "1/s", perSecond),
  ];
}

async function* upload(collection: string, index: number, text: string) {
  yield { part: { case: "header" as const, value: { collection, name: `${index}.txt` } } };
  yield { part: { case: "chunk" as const, value: new TextEncoder().encode(text) } };
}

/** Normalised discounted cumulative gain of a ranking, every relevant text counting the same. */
function ndcg(found: readonly number[], relevant: readonly number[]): number {
  const gain = (rank: number) => 1 / Math.log2(rank + 2);
  const wanted = new Set(relevant);
  const got = found.slice(0, depth).reduce((sum, id, rank) => sum + (wanted.has(id) ? gain(rank) : 0), 0);
  const best = relevant.slice(0, depth).reduce((sum, _, rank) => sum + gain(rank), 0);
  return best === 0 ? 0 : got / best;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
