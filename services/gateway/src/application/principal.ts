/** Who a request at the edge comes from. */
export interface Principal {
  readonly keyId: string;
  readonly tenant: string;
  readonly subject: string;
  /** By name, never the star. */
  readonly scopes: readonly string[];
}
