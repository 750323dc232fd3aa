/** An item of a template that comes with the product. Other items link to it by `resource:@key`. */
interface ShippedItem {
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

export interface ShippedTemplate {
  /** The template's id is derived from the slug, so the slug must never change. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly icon: string;
  readonly category: string;
  readonly tree: readonly ShippedItem[];
}

/** Returns the options of a select column with these choices. */
export function choices(...names: readonly string[]): { readonly choices: readonly object[] } {
  return { choices: names.map((name) => ({ id: name.toLowerCase().replace(/[^a-z0-9]+/g, '-'), name })) };
}
