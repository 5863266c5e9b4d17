import type { ColumnType, Generated } from "kysely";

/** The tables of the schema `gateway`. */
export interface GatewaySchema {
  readonly tenant: { readonly tenant_id: string; readonly created_at: Generated<Date> };
  readonly api_key: {
    readonly tenant_id: string;
    readonly id: string;
    readonly subject: string;
    readonly scopes: string[];
    readonly digest: Uint8Array;
    readonly digest_kind: string;
    readonly created_at: Generated<Date>;
    readonly revoked_at: ColumnType<Date | null, never, Date>;
    readonly last_used_at: ColumnType<Date | null, never, Date>;
  };
  readonly server_secret: { readonly name: string; readonly value: Uint8Array };
}
