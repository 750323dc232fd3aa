/** Roles on a resource, from the weakest to the strongest. */
export const ROLES = ['viewer', 'commenter', 'editor', 'manager', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** A person in the model, with their membership in the Org and its workspaces. */
export interface Person {
  readonly name: string;
  readonly inOrg: boolean;
  /** The role at the root of each workspace, by its number; a guest is a member without a role. */
  readonly roles: Readonly<Record<number, Role | 'guest'>>;
  /** Names of the Org's groups that the person is in; they give nothing outside of the Org. */
  readonly groups?: readonly string[];
}

/** A role that a grant gives until it expires. */
export interface ModelTerm {
  readonly role: Role;
  /** Epoch milliseconds; absent if the grant never expires. */
  readonly expires?: number | undefined;
}

/** An agent in the model: a principal of its own, with a role in some workspaces. */
export interface Agent {
  readonly name: string;
  readonly roles: Readonly<Record<number, Role>>;
}

export interface ModelNode {
  readonly id: string;
  /** Undefined at the root. */
  parent: ModelNode | undefined;
  /** Number of the workspace; valid for nodes at the root only, as others are in their parent's workspace. */
  workspace: number;
  restricted: boolean;
  /** Number of the deletion that moved the node to the trash; undefined if it is live. */
  batch: number | undefined;
  /** Terms by principal: a person's name, `org`, `workspace 0`, or a group's name. The strongest unexpired term applies. */
  readonly grants: Map<string, readonly ModelTerm[]>;
}

/** A tree with grants, implemented literally as specified: nothing is cached or derived, every query walks the tree. */
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

  /** Returns a node and its ancestors, from the node upwards. */
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

  /** Restores a node with its batch, to its parent or else to the nearest live ancestor. */
  restore(node: ModelNode): void {
    const { batch } = node;
    const workspace = this.workspaceOf(node);
    for (const one of this.below(node)) if (one.batch === batch) one.batch = undefined;
    node.batch = undefined;
    node.parent = node.parent && this.chain(node.parent).find((one) => one.batch === undefined);
    node.workspace = workspace;
  }

  /**
   * Returns the effective role: max(direct grants on the node to any of P(person), restricted ? none :
   * effective(parent)). The root's parent is the workspace's role; owners and administrators of the workspace stay
   * managers below a restriction.
   */
  effective(node: ModelNode, person: Person, now: number): Role | undefined {
    if (!person.inOrg) return undefined;
    return greatest([...this.direct(node, person, now), this.#inherited(node, person, now)]);
  }

  /**
   * Returns what an agent may do on behalf of a person: what both may, and never more than an editor. The agent has its
   * role at the root of each workspace, none below a restriction, and its direct grants; nothing without a role.
   */
  together(node: ModelNode, person: Person, agent: Agent, now: number): Role | undefined {
    if (agent.roles[this.workspaceOf(node)] === undefined) return undefined;
    return least([this.effective(node, person, now), this.#ofAgent(node, agent, now), 'editor']);
  }

  #ofAgent(node: ModelNode, agent: Agent, now: number): Role | undefined {
    const above = node.parent === undefined ? agent.roles[node.workspace] : this.#ofAgent(node.parent, agent, now);
    return greatest([roleNow(node.grants.get(agent.name) ?? [], now), node.restricted ? undefined : above]);
  }

  direct(node: ModelNode, person: Person, now: number): Role[] {
    return principalsOf(person).flatMap((principal) => roleNow(node.grants.get(principal) ?? [], now) ?? []);
  }

  #inherited(node: ModelNode, person: Person, now: number): Role | undefined {
    const place = person.roles[this.workspaceOf(node)];
    const atRoot = place === 'guest' ? undefined : place;
    if (node.restricted) return atRoot === 'owner' || atRoot === 'manager' ? 'manager' : undefined;
    return node.parent === undefined ? atRoot : this.effective(node.parent, person, now);
  }
}

/** Returns the terms that have not expired. */
export function termsNow(terms: readonly ModelTerm[], now: number): ModelTerm[] {
  return terms.filter(({ expires }) => expires === undefined || expires > now);
}

/** Returns the role that terms give at a time; undefined if all have expired. */
export function roleNow(terms: readonly ModelTerm[], now: number): Role | undefined {
  return greatest(termsNow(terms, now).map(({ role }) => role));
}

/** Returns the principals of grants that apply to a person. */
export function principalsOf({ name, inOrg, roles, groups = [] }: Person): string[] {
  const workspaces = Object.keys(roles).map((number) => `workspace ${number}`);
  return [name, ...(inOrg ? ['org'] : []), ...workspaces, ...groups];
}

export function greatest(roles: readonly (Role | undefined)[]): Role | undefined {
  const [first, ...rest] = roles.filter((role) => role !== undefined);
  return first && rest.reduce((a, b) => (ROLES.indexOf(b) > ROLES.indexOf(a) ? b : a), first);
}

/** Returns the least role; undefined if one of them is none. */
export function least(roles: readonly (Role | undefined)[]): Role | undefined {
  const all = roles.map((role) => (role === undefined ? -1 : ROLES.indexOf(role)));
  return ROLES[Math.min(...all)];
}
