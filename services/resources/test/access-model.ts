/** Roles on a resource from the least to the greatest. */
export const ROLES = ['viewer', 'commenter', 'editor', 'manager', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** Somebody in the model: what they are in the Org and in its workspaces. */
export interface Person {
  readonly name: string;
  readonly inOrg: boolean;
  /** The role at the root of each workspace, by its number; a guest has a place and no role. */
  readonly roles: Readonly<Record<number, Role | 'guest'>>;
}

export interface ModelGrant {
  readonly role: Role;
  /** Epoch milliseconds; absent for good. */
  readonly expires?: number | undefined;
}

export interface ModelNode {
  readonly id: string;
  /** Undefined at the root. */
  parent: ModelNode | undefined;
  /** Of what stands at the root; what stands below is where its parent is. */
  workspace: number;
  restricted: boolean;
  /** The number of the deletion that it is in the trash by. */
  batch: number | undefined;
  /** By principal: a person’s name, `org`, or `workspace 0`. */
  readonly grants: Map<string, ModelGrant>;
}

/** A tree with grants, as simple as the specification says it: nothing is derived, everything is walked. */
export class Model {
  readonly nodes: ModelNode[] = [];
  #batches = 0;

  add(id: string, parent: ModelNode | undefined, workspace: number, restricted: boolean): ModelNode {
    const node = { id, parent, workspace, restricted, batch: undefined, grants: new Map() };
    this.nodes.push(node);
    return node;
  }

  workspaceOf(node: ModelNode): number {
    return node.parent === undefined ? node.workspace : this.workspaceOf(node.parent);
  }

  below(node: ModelNode): ModelNode[] {
    return this.nodes.filter((one) => one !== node && this.chain(one).includes(node));
  }

  /** A node and its ancestors, from itself up. */
  chain(node: ModelNode): ModelNode[] {
    return node.parent === undefined ? [node] : [node, ...this.chain(node.parent)];
  }

  get live(): ModelNode[] {
    return this.nodes.filter(({ batch }) => batch === undefined);
  }

  trash(node: ModelNode): void {
    const batch = ++this.#batches;
    for (const one of [node, ...this.below(node)]) one.batch ??= batch;
  }

  /** Brings a node back with its batch: to its parent, else to the nearest ancestor that lives. */
  restore(node: ModelNode): void {
    const { batch } = node;
    const workspace = this.workspaceOf(node);
    for (const one of this.below(node)) if (one.batch === batch) one.batch = undefined;
    node.batch = undefined;
    node.parent = node.parent && this.chain(node.parent).find((one) => one.batch === undefined);
    node.workspace = workspace;
  }

  /**
   * effective(node, person) = max(direct grants on the node to any of P(person), restricted ? none :
   * effective(parent)), the workspace's role being the top; its owners and administrators stay managers
   * below a restriction.
   */
  effective(node: ModelNode, person: Person, now: number): Role | undefined {
    if (!person.inOrg) return undefined;
    return greatest([...this.direct(node, person, now), this.#inherited(node, person, now)]);
  }

  direct(node: ModelNode, person: Person, now: number): Role[] {
    const held = principalsOf(person).flatMap((principal) => node.grants.get(principal) ?? []);
    return held.filter(({ expires }) => expires === undefined || expires > now).map(({ role }) => role);
  }

  #inherited(node: ModelNode, person: Person, now: number): Role | undefined {
    const place = person.roles[this.workspaceOf(node)];
    const atRoot = place === 'guest' ? undefined : place;
    if (node.restricted) return atRoot === 'owner' || atRoot === 'manager' ? 'manager' : undefined;
    return node.parent === undefined ? atRoot : this.effective(node.parent, person, now);
  }
}

/** What grants may name to mean a person. */
export function principalsOf({ name, inOrg, roles }: Person): string[] {
  return [name, ...(inOrg ? ['org'] : []), ...Object.keys(roles).map((number) => `workspace ${number}`)];
}

export function greatest(roles: readonly (Role | undefined)[]): Role | undefined {
  const [first, ...rest] = roles.filter((role) => role !== undefined);
  return first && rest.reduce((a, b) => (ROLES.indexOf(b) > ROLES.indexOf(a) ? b : a), first);
}
