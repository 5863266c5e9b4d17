import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

/** One object of deploy/k8s/sandbox.yaml, as far as tests look at it. */
export interface ClusterObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  readonly rules?: readonly {
    readonly apiGroups: string[];
    readonly resources: string[];
    readonly verbs: string[];
  }[];
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** The shipped manifests in their order. */
export function shippedObjects(): readonly ClusterObject[] {
  const path = new URL("../../../../deploy/k8s/sandbox.yaml", import.meta.url);
  return parseAllDocuments(readFileSync(path, "utf8")).map((document) => {
    if (document.errors.length > 0) throw new Error(String(document.errors[0]));
    return document.toJS() as ClusterObject;
  });
}

/** What the shipped role grants, as `resource:verb`. */
export function shippedGrants(): ReadonlySet<string> {
  const rules = shippedObjects().flatMap(({ kind, rules = [] }) => (kind === "Role" ? rules : []));
  return new Set(
    rules.flatMap(({ resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${resource}:${verb}`)),
    ),
  );
}
