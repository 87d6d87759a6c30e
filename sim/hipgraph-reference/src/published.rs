//! Small published graphs, for examples and tests. Undirected, each edge once.

/// Zachary's karate club: 34 members, 78 friendships, numbered from 0 (W. W. Zachary, "An Information Flow Model for Conflict
/// and Fission in Small Groups", Journal of Anthropological Research 33, 1977).
pub const KARATE: [(i32, i32); 78] = [
    (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8), (0, 10), (0, 11), (0, 12), (0, 13), (0, 17), (0, 19),
    (0, 21), (0, 31), (1, 2), (1, 3), (1, 7), (1, 13), (1, 17), (1, 19), (1, 21), (1, 30), (2, 3), (2, 7), (2, 8), (2, 9),
    (2, 13), (2, 27), (2, 28), (2, 32), (3, 7), (3, 12), (3, 13), (4, 6), (4, 10), (5, 6), (5, 10), (5, 16), (6, 16),
    (8, 30), (8, 32), (8, 33), (9, 33), (13, 33), (14, 32), (14, 33), (15, 32), (15, 33), (18, 32), (18, 33), (19, 33),
    (20, 32), (20, 33), (22, 32), (22, 33), (23, 25), (23, 27), (23, 29), (23, 32), (23, 33), (24, 25), (24, 27), (24, 31),
    (25, 31), (26, 29), (26, 33), (27, 33), (28, 31), (28, 33), (29, 32), (29, 33), (30, 32), (30, 33), (31, 32), (31, 33),
    (32, 33),
];

/// Marriages of Florentine families in the 15th century: 15 families, 20 marriages (R. L. Breiger and P. E. Pattison,
/// "Cumulated social roles", Social Networks 8, 1986). Their names are [`FAMILIES`].
pub const FLORENTINE: [(i32, i32); 20] = [
    (0, 8), (1, 5), (1, 6), (1, 8), (2, 4), (2, 8), (3, 6), (3, 10), (3, 13), (4, 10), (4, 13), (6, 7), (6, 14), (8, 11),
    (8, 12), (8, 14), (9, 12), (10, 13), (11, 13), (11, 14),
];

/// The names of the families of [`FLORENTINE`].
pub const FAMILIES: [&str; 15] = [
    "Acciaiuoli", "Albizzi", "Barbadori", "Bischeri", "Castellani", "Ginori", "Guadagni", "Lamberteschi", "Medici", "Pazzi",
    "Peruzzi", "Ridolfi", "Salviati", "Strozzi", "Tornabuoni",
];

/// Krackhardt's kite: 10 vertices, 18 edges (D. Krackhardt, "Assessing the Political Landscape", Administrative Science
/// Quarterly 35, 1990).
pub const KITE: [(i32, i32); 18] = [
    (0, 1), (0, 2), (0, 3), (0, 5), (1, 3), (1, 4), (1, 6), (2, 3), (2, 5), (3, 4), (3, 5), (3, 6), (4, 6), (5, 6), (5, 7),
    (6, 7), (7, 8), (8, 9),
];
