/** An item of a template that comes with the product. Others refer to it in links as `resource:@key`. */
export interface ShippedItem {
  readonly key?: string;
  readonly type: 'folder' | 'document' | 'table';
  readonly name: string;
  readonly icon?: string;
  readonly description?: string;
  readonly content?: string;
  readonly columns?: readonly object[];
  readonly rows?: readonly (readonly unknown[])[];
  readonly children?: readonly ShippedItem[];
}

export interface Shipped {
  /** Its id is derived from this, for good. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly icon: string;
  readonly category: string;
  readonly tree: readonly ShippedItem[];
}

/** The options of a column of choices. */
export function choices(...names: readonly string[]): { readonly choices: readonly object[] } {
  return { choices: names.map((name) => ({ id: name.toLowerCase().replace(/[^a-z0-9]+/g, '-'), name })) };
}
