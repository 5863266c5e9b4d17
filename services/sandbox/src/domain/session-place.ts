/** A task's sessions are another instance's, which lives as far as the database knows. */
export interface Elsewhere {
  readonly kind: "there";
  /** Where that instance is reached, `host:port`. */
  readonly address: string;
}

/** What asking for a task's row came to. */
export type Taken =
  | Elsewhere
  | { readonly kind: "nobody" }
  | {
      readonly kind: "here";
      readonly epoch: number;
      /** The dead instance that had it; empty where nobody had. */
      readonly from: string;
      /** How many executions of that instance ended as lost with the taking. */
      readonly lost: number;
    };

/** One task that this instance has. */
export interface OwnedTask {
  readonly tenant: string;
  readonly taskId: string;
  readonly epoch: number;
}
