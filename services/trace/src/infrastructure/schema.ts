/** Tables of the schema `trace`, see migrations. Statements are written as SQL, so only their names matter here. */
export interface TraceSchema {
  readonly trace: object;
  readonly span: object;
  readonly span_event: object;
  readonly span_payload: object;
}
