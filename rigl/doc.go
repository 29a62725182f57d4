// Package rigl trains the connections of a network beside its weights: it
// shares a budget of connections out among the layers ([Distribution]), and
// during training drops some connections and grows others ([Updater]), as RigL
// does (Evci et al., "Rigging the Lottery: Making All Tickets Winners", ICML
// 2020).
//
// A [Method] is a combination of independent pieces: what to drop, what to grow,
// and a [Schedule] of when and how much. SET and RigL differ in one of them.
//
// Nothing here holds a dense gradient: growth streams over it tile by tile. An
// update keeps the number of connections of each layer.
package rigl
