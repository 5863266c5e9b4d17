import type { Script } from "@drover/testkit/scripted-model";
import { analyseSales } from "./analyse-sales.ts";
import { answerFromDocuments } from "./answer-from-documents.ts";
import { cautious } from "./cautious.ts";
import { gullible } from "./gullible.ts";
import { investigate } from "./investigate.ts";
import { proseThenJson } from "./prose-then-json.ts";
import { publishWhenAllowed } from "./publish-when-allowed.ts";
import { repairCode } from "./repair-code.ts";
import { restless } from "./restless.ts";
import { sleeper } from "./sleeper.ts";

/** The programs that stand in for a model, by the name that an evaluation gives. Each sees the wire alone. */
export const policies: Readonly<Record<string, Script>> = {
  "analyse-sales": analyseSales,
  "answer-from-documents": answerFromDocuments,
  cautious,
  gullible,
  investigate,
  "prose-then-json": proseThenJson,
  "publish-when-allowed": publishWhenAllowed,
  "repair-code": repairCode,
  restless,
  sleeper,
};
